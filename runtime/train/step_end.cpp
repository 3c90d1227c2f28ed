#include "runtime/train/step_end.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

std::vector<StepReduction> StepEnd::reductions_of(const StepTotals& mine) const {
  const bool is_sum = options_.clipping.norm_type == NormType::l2;
  if (is_sum && !options_.has_hooks) return {{ReduceOp::sum, to_values(mine)}};
  StepTotals sums = mine;
  sums.norm_share = 0;
  if (options_.has_hooks) return {{ReduceOp::sum, to_values(sums)}};
  return {{ReduceOp::sum, to_values(sums)}, {ReduceOp::max, {mine.norm_share}}};
}

StepReduction StepEnd::reduction_of_hooked(double norm_share, bool skip) const {
  const bool is_sum = options_.clipping.norm_type == NormType::l2;
  return {is_sum ? ReduceOp::sum : ReduceOp::max, {norm_share, skip ? 1.0 : 0.0}};
}

std::optional<StepResult> StepEnd::add(std::span<const double> values, std::size_t update) {
  const bool hooked = options_.has_hooks;
  bool hook_skips = false;
  if (sums_) {
    D9D_CHECK(values.size() == (hooked ? 2 : 1), "the norm of a step has {} values", values.size());
    sums_->norm_share = values.front();
    hook_skips = hooked && values.back() > 0;
  } else {
    sums_ = step_totals_from(values);
    const bool nothing_to_hook = hooked && sums_->weight_sum <= 0;
    if ((hooked && !nothing_to_hook) || (!hooked && options_.clipping.norm_type == NormType::inf))
      return std::nullopt;
  }
  StepResult result{.totals = *std::exchange(sums_, std::nullopt), .scale = {}, .hook_skips = hook_skips};
  result.scale =
      step_scale(result.totals, options_.clipping, hooked ? GradientsAre::means : GradientsAre::sums);
  result.counts = result.scale.counts;
  if (!result.counts) ++without_labels_;
  result.skips = hook_skips || !result.counts || is_not_finite(result.scale);
  if (result.skips) ++skipped_.at(update);
  return result;
}

// And may be skipped; else the job ends here.
bool StepEnd::is_not_finite(const StepScale& scale) {
  if (scale.is_finite()) {
    in_a_row_ = 0;
    return false;
  }
  const NonFiniteOptions& options = options_.non_finite;
  if (options.action == NonFiniteAction::stop || in_a_row_ == options.max_in_a_row) refuse(scale);
  ++in_a_row_;
  return true;
}

void StepEnd::refuse(const StepScale& scale) const {
  const bool gave_up = options_.non_finite.action == NonFiniteAction::skip;
  const std::string row =
      gave_up ? fmt::format(
                    ", after {} that followed each other and were skipped for the same reason "
                    "(trainer.non_finite_gradients.max_in_a_row)",
                    counted(in_a_row_, "step"))
              : "";
  throw Error(
      ErrorKind::environment,
      fmt::format("loss is {} and gradient norm is {}{}. Lower the learning rate{}{}", scale.loss, scale.norm,
                  row, options_.clipping.max_norm ? "" : ", or set trainer.gradient_clipping.max_norm",
                  gave_up ? "" : ", or skip such steps with trainer.non_finite_gradients"));
}

}  // namespace d9d
