#pragma once
// The decisions at the end of a step: the scale of the gradients, and whether the update is
// skipped because loss or gradient is not finite. All ranks decide from the same sums, and
// therefore alike. No torch in this header.

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/comm/reduce_op.hpp"
#include "runtime/train/step_scale.hpp"

namespace d9d {

// stop: the job ends with an error. skip: parameters, optimizer state and its count of updates do not
// change, and the job continues with the next step.
enum class NonFiniteAction { stop, skip };

struct NonFiniteOptions {
  NonFiniteAction action = NonFiniteAction::stop;
  std::int64_t max_in_a_row = 10;  // the most skipped steps one after the other; one more ends the job
};

struct StepEndOptions {
  ClippingOptions clipping;
  NonFiniteOptions non_finite;
  // How often the resumed checkpoint's job had skipped each update of a step.
  std::vector<std::uint64_t> skipped_before = {0};
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
  bool skips = false;       // the update is skipped
  bool hook_skips = false;  // it is skipped because a gradient hook refused it
  bool counts = true;       // false: it is skipped because no token of the whole batch counts in the loss
};

class StepEnd {
 public:
  explicit StepEnd(StepEndOptions options) : options_(options), skipped_(options.skipped_before) {}

  // Returns the values to reduce over all ranks, in this order.
  std::vector<StepReduction> reductions_of(const StepTotals& mine) const;
  // In a job with hooks: the sums after the first reduction, for the hooks, which are due then.
  // Null before it, and in a step in which no token counts: such a step calls no hooks, and
  // add() returns its result at once.
  const StepTotals* sums_for_hooks() const { return options_.has_hooks && sums_ ? &*sums_ : nullptr; }
  // Returns the values to reduce after the hooks: this rank's share of the norm, and whether one
  // of its hooks refused the update.
  StepReduction reduction_of_hooked(double norm_share, bool skip) const;
  // Takes the reduced values of this update of the step in the same order. Returns the result with the last of them.
  // An update in which no token counts is skipped, whatever the options say. Environment error, with a remedy, when
  // loss or norm is not finite and the job has to stop.
  std::optional<StepResult> add(std::span<const double> values, std::size_t update = 0);

  // How often each update of a step was skipped so far, including those before a resume; and the sum.
  const std::vector<std::uint64_t>& skipped_by_update() const { return skipped_; }
  std::uint64_t skipped() const {
    return std::accumulate(skipped_.begin(), skipped_.end(), std::uint64_t{0});
  }
  // How many of these, since the process began, were skipped because no token of the whole batch counted.
  std::uint64_t without_labels() const { return without_labels_; }
  // After the job went back to a checkpoint.
  void set_skipped(std::vector<std::uint64_t> skipped) { skipped_ = std::move(skipped); }

 private:
  bool is_not_finite(const StepScale& scale);
  [[noreturn]] void refuse(const StepScale& scale) const;

  StepEndOptions options_;
  std::optional<StepTotals> sums_;  // reduced, while norm or maximum is still missing
  std::vector<std::uint64_t> skipped_;
  std::uint64_t without_labels_ = 0;
  std::int64_t in_a_row_ = 0;
};

}  // namespace d9d
