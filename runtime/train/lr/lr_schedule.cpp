#include "runtime/train/lr/lr_schedule.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Rounds down, but first drops the error of a share that is no binary fraction: 0.29 of
// 100 is 29, not 28.999999999999996.
std::int64_t steps_of_share(double share, std::int64_t steps) {
  const double exact = share * static_cast<double>(steps), whole = std::round(exact);
  const double noise = 4 * std::numeric_limits<double>::epsilon() * exact;
  return static_cast<std::int64_t>(std::abs(exact - whole) <= noise ? whole : std::floor(exact));
}

}  // namespace

PiecewiseLr::PiecewiseLr(std::vector<LrPhase> phases) : phases_(std::move(phases)) {
  D9D_REQUIRE(!phases_.empty(),
              "a learning-rate schedule without phases; give at least one, e.g. mode: rest");
}

double PiecewiseLr::multiplier(std::int64_t step) const {
  if (step < phases_.front().start_step) return phases_.front().start_value;
  for (const LrPhase& phase : phases_) {
    if (step < phase.start_step || step >= phase.end_step) continue;
    const auto done = static_cast<double>(step - phase.start_step);
    const auto length = static_cast<double>(phase.end_step - phase.start_step);
    return interpolate(phase.curve, phase.start_value, phase.end_value, done / length);
  }
  return phases_.back().end_value;
}

PiecewiseLrBuilder::PiecewiseLrBuilder(double initial_multiplier, std::optional<std::int64_t> total_steps)
    : total_steps_(total_steps), value_(initial_multiplier) {}

std::int64_t PiecewiseLrBuilder::total(const char* asked_by) const {
  D9D_REQUIRE(total_steps_.has_value(),
              "a learning-rate phase of mode {} needs the number of steps of the job; set "
              "trainer.schedule.total_steps, or use mode: steps",
              asked_by);
  return *total_steps_;
}

void PiecewiseLrBuilder::add(std::int64_t end_step, double target, LrCurve curve) {
  phases_.push_back({step_, end_step, value_, target, std::move(curve)});
  step_ = end_step;
  value_ = target;
}

PiecewiseLrBuilder& PiecewiseLrBuilder::for_steps(std::int64_t steps, double target, LrCurve curve) {
  D9D_REQUIRE(steps > 0, "a learning-rate phase of {} steps; give at least 1", steps);
  add(step_ + steps, target, std::move(curve));
  return *this;
}

PiecewiseLrBuilder& PiecewiseLrBuilder::until_percentage(double percentage, double target, LrCurve curve) {
  const std::int64_t steps = total("percentage");
  D9D_REQUIRE(percentage >= 0.0 && percentage <= 1.0,
              "a learning-rate phase until percentage {}; give a share from 0 to 1", percentage);
  if (is_past_end()) return *this;
  const std::int64_t end_step = steps_of_share(percentage, steps);
  D9D_REQUIRE(end_step >= step_,
              "a learning-rate phase until percentage {} of {} steps (step {}) begins at step {}; raise the "
              "percentage or shorten the phases before it",
              percentage, steps, end_step, step_);
  add(end_step, target, std::move(curve));
  return *this;
}

PiecewiseLrBuilder& PiecewiseLrBuilder::fill_rest(double target, LrCurve curve) {
  const std::int64_t steps = total("rest");
  if (!is_past_end()) add(steps, target, std::move(curve));
  return *this;
}

PiecewiseLr PiecewiseLrBuilder::build() const {
  return PiecewiseLr(phases_);
}

}  // namespace d9d
