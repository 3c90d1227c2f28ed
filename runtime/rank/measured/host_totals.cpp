#include "runtime/rank/measured/host_totals.hpp"

#include "runtime/device/host_numbers.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"

namespace d9d {

StepTotals host_totals(const std::vector<StageLosses>& stages, const FlatParameters& parameters,
                       NormParts& reduced, NormType norm) {
  std::vector<at::Tensor> all;
  for (const GradientBucket& bucket : parameters.buckets()) {
    if (!bucket.needs_reduction() || bucket.tied) all.push_back(share_of_norm_later(bucket, norm));
  }
  const std::size_t own = all.size();
  for (at::Tensor& share : reduced.take()) all.push_back(std::move(share));
  const std::size_t shares = all.size();
  for (const StageLosses& stage : stages) all.insert(all.end(), stage.losses.begin(), stage.losses.end());
  const std::vector<double> numbers = host_numbers(all);

  const auto join = [&](std::size_t begin, std::size_t end) {
    double share = 0;
    for (std::size_t i = begin; i < end; ++i)
      share = joined_shares(norm, share, share_of_number(numbers[i], norm));
    return share;
  };
  StepTotals totals;
  totals.norm_share = joined_shares(norm, join(0, own), join(own, shares));
  auto loss = numbers.begin() + static_cast<std::ptrdiff_t>(shares);
  for (const StageLosses& stage : stages) {
    const auto end = loss + static_cast<std::ptrdiff_t>(stage.losses.size());
    const StageTotals sums = totals_of({loss, end}, stage.weights);
    totals.loss_sum += sums.loss_sum;
    totals.weight_sum += sums.weight_sum;
    loss = end;
  }
  return totals;
}

}  // namespace d9d
