#include "runtime/train/lr/lr_config.hpp"

#include <cmath>
#include <limits>

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

constexpr double default_decay = 0.1;

// Rounds up, but first drops the error of a share that is no binary fraction: 0.07 of
// 100 is 7, not 7.000000000000001.
std::int64_t steps_of_ratio(double ratio, std::int64_t steps) {
  const double exact = ratio * static_cast<double>(steps), whole = std::round(exact);
  const double noise = 4 * std::numeric_limits<double>::epsilon() * exact;
  return static_cast<std::int64_t>(std::abs(exact - whole) <= noise ? whole : std::ceil(exact));
}

// `otherwise`: the ratio when neither key is given.
std::int64_t length_of(const char* what, const std::optional<std::int64_t>& steps,
                       const std::optional<double>& ratio, std::optional<std::int64_t> total_steps,
                       double otherwise) {
  D9D_REQUIRE(!steps || !ratio, "{0}_steps and {0}_ratio say the same; give one of them", what);
  if (steps) return *steps;
  const double share = ratio.value_or(otherwise);
  if (share == 0) return 0;
  D9D_REQUIRE(total_steps,
              "{0}_ratio needs the number of steps of the job; set trainer.schedule.total_steps, "
              "or give {0}_steps",
              what);
  return steps_of_ratio(share, *total_steps);
}

class Phases {
 public:
  Phases(const LrWarmUp& warm_up, double from, std::optional<std::int64_t> total_steps)
      : steps_(length_of("warmup", warm_up.warmup_steps, warm_up.warmup_ratio, total_steps, 0)) {
    config_.initial_multiplier = steps_ == 0 ? 1 : from;
    if (steps_ > 0) config_.phases.emplace_back(LrStepsPhase{steps_, 1, LinearCurve{}});
  }

  void hold_until(std::int64_t step) {
    if (step > steps_) config_.phases.emplace_back(LrStepsPhase{step - steps_, 1, LinearCurve{}});
  }
  void go_on(std::int64_t steps, double target, const LrCurve& curve) {
    config_.phases.emplace_back(LrStepsPhase{steps, target, curve});
  }
  PiecewiseLrConfig rest(double target, const LrCurve& curve) {
    config_.phases.emplace_back(LrRestPhase{target, curve});
    return config_;
  }
  PiecewiseLrConfig end() {
    // A schedule needs a phase. This one keeps the multiplier at 1, because the
    // end value of the last phase stays.
    if (config_.phases.empty()) config_.phases.emplace_back(LrStepsPhase{1, 1, LinearCurve{}});
    return config_;
  }

 private:
  PiecewiseLrConfig config_;
  std::int64_t steps_;  // of the warm-up
};

struct AsPhases {
  std::optional<std::int64_t> total_steps;

  PiecewiseLrConfig operator()(const PiecewiseLrProvider& piecewise) const { return piecewise.scheduler; }
  PiecewiseLrConfig operator()(const ConstantLr& form) const { return Phases(form, 0, total_steps).end(); }
  PiecewiseLrConfig operator()(const LinearLr& form) const {
    return Phases(form, 0, total_steps).rest(form.min_ratio, LinearCurve{});
  }
  PiecewiseLrConfig operator()(const CosineLr& form) const {
    return Phases(form, 0, total_steps).rest(form.min_ratio, CosineCurve{});
  }
  PiecewiseLrConfig operator()(const WsdLr& form) const {
    Phases phases(form, form.min_ratio, total_steps);
    const std::int64_t decay =
        length_of("decay", form.decay_steps, form.decay_ratio, total_steps, default_decay);
    D9D_REQUIRE(total_steps,
                "the schedule wsd needs the number of steps of the job; set trainer.schedule.total_steps");
    phases.hold_until(*total_steps - decay);
    if (decay > 0) phases.go_on(decay, form.min_ratio, form.curve);
    return phases.end();
  }
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
