#include "runtime/train/lr_config.hpp"

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

}  // namespace

PiecewiseLr build_lr(const PiecewiseLrConfig& config, std::optional<std::int64_t> total_steps) {
  PiecewiseLrBuilder builder(config.initial_multiplier, total_steps);
  for (const LrPhaseConfig& phase : config.phases) std::visit(AddPhase{builder}, phase);
  return builder.build();
}

PiecewiseLr constant_lr() {
  return PiecewiseLr({LrPhase{0, 0, 1.0, 1.0, LinearCurve{}}});
}

}  // namespace d9d
