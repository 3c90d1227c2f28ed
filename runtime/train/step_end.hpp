#pragma once
// What all ranks decide at the end of a step, from the same sums and therefore alike: the scale of the gradients,
// and whether the update is skipped because loss or gradient is not finite. No torch in this header.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/comm/reduce_op.hpp"
#include "runtime/train/step_scale.hpp"

namespace d9d {

// stop: the job ends with an error. skip: parameters, optimizer state and its count of updates stay as they are,
// and the next step follows.
enum class NonFiniteAction { stop, skip };

struct NonFiniteOptions {
  NonFiniteAction action = NonFiniteAction::stop;
  std::int64_t max_in_a_row = 10;  // so many skipped steps may follow each other; one more ends the job
};

struct StepEndOptions {
  ClippingOptions clipping;
  NonFiniteOptions non_finite;
  std::uint64_t skipped_before = 0;  // updates that the resumed checkpoint's job had skipped
  // Gradient hooks run between the sums of the step and its norm (gradient_hook.hpp).
  bool has_hooks = false;
};

struct StepReduction {
  ReduceOp operation = ReduceOp::sum;
  std::vector<double> values;
};

struct StepResult {
  StepTotals totals;  // of all ranks
  StepScale scale;
  bool skips = false;       // the update
  bool hook_skips = false;  // because a gradient hook says so
  bool counts = true;       // false: skipped because no token of the whole batch counts in the loss
};

class StepEnd {
 public:
  explicit StepEnd(StepEndOptions options) : options_(options), skipped_(options.skipped_before) {}

  // What has to be reduced over all ranks, in this order.
  std::vector<StepReduction> reductions_of(const StepTotals& mine) const;
  // With hooks: the sums after the first reduction, when the hooks are due; null before it and in a step without hooks.
  // A step in which nothing counts has no hooks: add() returns its result at once.
  const StepTotals* sums_for_hooks() const { return options_.has_hooks && sums_ ? &*sums_ : nullptr; }
  // After them: what is reduced then, of this rank's share of the norm, and whether a hook of it says skip.
  StepReduction reduction_of_hooked(double norm_share, bool skip) const;
  // Takes the reduced values in that order; returns the result with the last of them. A step in which no token counts
  // is skipped, whatever the options say. Environment error, with what to try, when loss or norm is not finite and the
  // job has to stop.
  std::optional<StepResult> add(std::span<const double> values);

  // Updates skipped so far, those before a resume included.
  std::uint64_t skipped() const { return skipped_; }
  // Of them since the process began: those in which no token of the whole batch counted.
  std::uint64_t without_labels() const { return without_labels_; }
  // The job went back: so many of its steps have left nothing in the state.
  void set_skipped(std::uint64_t skipped) { skipped_ = skipped; }

 private:
  bool skips(const StepScale& scale);
  [[noreturn]] void refuse(const StepScale& scale) const;

  StepEndOptions options_;
  std::optional<StepTotals> sums_;  // reduced, while norm or maximum is still missing
  std::uint64_t skipped_;
  std::uint64_t without_labels_ = 0;
  std::int64_t in_a_row_ = 0;
};

}  // namespace d9d
