#include "runtime/train/step_end.hpp"

#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

std::vector<StepReduction> StepEnd::reductions_of(const StepTotals& mine) const {
  if (options_.clipping.norm_type == NormType::l2) return {{ReduceOp::sum, to_values(mine)}};
  StepTotals sums = mine;
  sums.norm_share = 0;
  return {{ReduceOp::sum, to_values(sums)}, {ReduceOp::max, {mine.norm_share}}};
}

std::optional<StepResult> StepEnd::add(std::span<const double> values) {
  if (sums_) {
    D9D_CHECK(values.size() == 1, "the maximum of a step has {} values", values.size());
    sums_->norm_share = values.front();
  } else {
    sums_ = step_totals_from(values);
    if (options_.clipping.norm_type == NormType::inf) return std::nullopt;
  }
  StepResult result{.totals = *std::exchange(sums_, std::nullopt)};
  result.scale = step_scale(result.totals, options_.clipping);
  result.skips = skips(result.scale);
  return result;
}

bool StepEnd::skips(const StepScale& scale) {
  if (scale.is_finite()) {
    in_a_row_ = 0;
    return false;
  }
  const NonFiniteOptions& options = options_.non_finite;
  if (options.action == NonFiniteAction::stop || in_a_row_ == options.max_in_a_row) refuse(scale);
  ++in_a_row_;
  ++skipped_;
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
