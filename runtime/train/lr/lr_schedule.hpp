#pragma once
// The learning rate over time. A plugin derives from LrSchedule and registers its name
// (runtime/plugin/registry.hpp). PiecewiseLr (LR-01, LR-02) is a multiplier of the optimizer's learning rate
// as a pure function of the step. Steps count from 0: multiplier(0) is that of the first optimizer step.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/train/lr/lr_curve.hpp"

namespace d9d {

class LrSchedule {
 public:
  virtual ~LrSchedule() = default;
  // Returns the multiplier of the optimizer's learning rate, at least 0, as a pure function of the step
  // (from 0) that any thread may call. Is called before the job starts, too. Throw an input error when a
  // job of this length is impossible.
  virtual std::function<double(std::int64_t step)> over(std::int64_t total_steps) const = 0;
};

// Steps [start_step, end_step). The end value is reached at end_step, which is
// the first step of the next phase.
struct LrPhase {
  std::int64_t start_step = 0;
  std::int64_t end_step = 0;
  double start_value = 0;
  double end_value = 0;
  LrCurve curve;
};

class PiecewiseLr {
 public:
  // `phases`: in the order of their steps. Input error when there is none.
  explicit PiecewiseLr(std::vector<LrPhase> phases);

  // Before the first phase it is that phase's start value, after the last one that phase's end value.
  double multiplier(std::int64_t step) const;
  const std::vector<LrPhase>& phases() const { return phases_; }

 private:
  std::vector<LrPhase> phases_;
};

// Adds phases one after the other. Each starts at the target of the one before. When a phase ends beyond
// total_steps, the job sees only its beginning, and later phases by percentage or rest are left out. Input
// error for a share without total_steps, a share outside of [0, 1], or one before the end of the last phase.
class PiecewiseLrBuilder {
 public:
  explicit PiecewiseLrBuilder(double initial_multiplier,
                              std::optional<std::int64_t> total_steps = std::nullopt);

  PiecewiseLrBuilder& for_steps(std::int64_t steps, double target, LrCurve curve);
  // Adds a phase until step floor(percentage * total_steps). `percentage`: a share in [0, 1].
  PiecewiseLrBuilder& until_percentage(double percentage, double target, LrCurve curve);
  PiecewiseLrBuilder& fill_rest(double target, LrCurve curve);
  PiecewiseLr build() const;

 private:
  void add(std::int64_t end_step, double target, LrCurve curve);
  std::int64_t total(const char* asked_by) const;
  bool is_past_end() const { return total_steps_ && step_ > *total_steps_; }

  std::optional<std::int64_t> total_steps_;
  std::int64_t step_ = 0;  // end of the last phase
  double value_;           // target of the last phase
  std::vector<LrPhase> phases_;
};

}  // namespace d9d
