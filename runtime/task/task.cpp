#include "runtime/task/task.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {

std::vector<StepPhase> TrainTask::phases() const {
  return {};
}

TokenLabels TrainTask::labels() const {
  return TokenLabels::next;
}

std::vector<StepUpdate> TrainTask::updates() const {
  return {};
}

void TrainTask::carry(const LossContext& context, TensorMap& /*carried*/) const {
  throw Error(
      ErrorKind::environment,
      fmt::format("phase {} of the task's step is forward alone, and the task has no carry() for its outputs",
                  context.phase));
}
void TrainTask::begin(const RankContext& /*context*/) {}

void TrainTask::create_metrics(Compose& /*metrics*/) const {}

void TrainTask::update_metrics(const LossContext& /*context*/, Compose& /*metrics*/) const {}

void TrainTask::register_events(RankEvents& /*events*/) {}

nlohmann::json TrainTask::hparams() const {
  return nlohmann::json::object();
}

nlohmann::json TrainTask::state() const {
  return nlohmann::json::object();
}

void TrainTask::load_state(const nlohmann::json& state) {
  D9D_REQUIRE(state.empty(), "the checkpoint holds state for the task, but this task keeps none: {}",
              json_text(state));
}

void TrainTask::finalize() {}

}  // namespace d9d
