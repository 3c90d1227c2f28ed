#include "runtime/task/task.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void TrainTask::begin(const RankContext& /*context*/) {}

void TrainTask::create_metrics(Compose& /*metrics*/) const {}

void TrainTask::update_metrics(const LossContext& /*context*/, Compose& /*metrics*/) const {}

nlohmann::json TrainTask::hparams() const {
  return nlohmann::json::object();
}

nlohmann::json TrainTask::state() const {
  return nlohmann::json::object();
}

void TrainTask::load_state(const nlohmann::json& state) {
  D9D_REQUIRE(state.empty(), "the checkpoint holds state for the task, but this task keeps none: {}",
              state.dump());
}

void TrainTask::finalize() {}

}  // namespace d9d
