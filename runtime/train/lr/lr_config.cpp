#include "runtime/train/lr/lr_config.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct AddPhase {
  PiecewiseLrBuilder& builder;

  void operator()(const LrStepsPhase& phase) const {
    builder.for_steps(phase.steps, phase.target_multiplier, phase.curve);
  }
  void operator()(const LrPercentagePhase& phase) const {
    builder.until_percentage(phase.percentage, phase.target_multiplier, phase.curve);
  }
  void operator()(const LrRestPhase& phase) const { builder.fill_rest(phase.target_multiplier, phase.curve); }
};

struct AsPhases {
  std::optional<std::int64_t> total_steps;

  PiecewiseLrConfig operator()(const PiecewiseLrProvider& piecewise) const { return piecewise.scheduler; }
  PiecewiseLrConfig operator()(const auto& schedule) const { return phases_of(schedule, total_steps); }
  PiecewiseLrConfig operator()(const config::Named&) const {
    D9D_CHECK(false, "a plugin's schedule has no phases");
    return {};
  }
};

}  // namespace

PiecewiseLrConfig as_phases(const LrSchedulerConfig& config, std::optional<std::int64_t> total_steps) {
  return std::visit(AsPhases{total_steps}, config);
}

PiecewiseLr build_lr(const PiecewiseLrConfig& config, std::optional<std::int64_t> total_steps) {
  PiecewiseLrBuilder builder(config.initial_multiplier, total_steps);
  for (const LrPhaseConfig& phase : config.phases) std::visit(AddPhase{builder}, phase);
  return builder.build();
}

PiecewiseLr constant_lr() {
  return PiecewiseLr({LrPhase{0, 0, 1.0, 1.0, LinearCurve{}}});
}

}  // namespace d9d
