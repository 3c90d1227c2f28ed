#include "runtime/state/checkpoint/early_stopping.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/count.hpp"

namespace d9d {

bool EarlyStopping::add(std::uint64_t step, std::optional<double> value) {
  const bool is_number = value && std::isfinite(*value);
  const auto gain = [&] { return options_.higher_is_better ? *value - *best_ : *best_ - *value; };
  if (is_number && (!best_ || gain() > options_.min_delta)) {
    best_ = value;
    best_step_ = step;
    worse_ = 0;
    return false;
  }
  return ++worse_ >= options_.stop_after;
}

std::string EarlyStopping::why(const std::string& metric) const {
  const std::string count = counted(worse_, "evaluation");
  if (!best_) return fmt::format("evaluation.stop_after: {} without a number for {}", count, metric);
  return fmt::format("evaluation.stop_after: {} without a better {} than {:.6g}, that after step {}", count,
                     metric, *best_, best_step_);
}

nlohmann::json EarlyStopping::state() const {
  nlohmann::json state{{"worse", worse_}, {"best_step", best_step_}};
  if (best_) state["best"] = *best_;
  return state;
}

void EarlyStopping::load_state(const nlohmann::json& state) {
  worse_ = state.at("worse").get<std::uint64_t>();
  best_step_ = state.at("best_step").get<std::uint64_t>();
  best_.reset();
  if (state.contains("best")) best_ = state.at("best").get<double>();
}

}  // namespace d9d
