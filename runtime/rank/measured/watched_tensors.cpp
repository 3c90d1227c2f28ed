#include "runtime/rank/measured/watched_tensors.hpp"

#include <ATen/ops/bincount.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>

#include "runtime/comm/reduce.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {
namespace {

constexpr std::int64_t num_powers = largest_power - smallest_power;
constexpr std::int64_t small_bin =
    num_powers;  // between the bins of negative numbers and those of positive ones
constexpr std::int64_t num_bins = 2 * num_powers + 1;

// |x| = m 2^e with m in [0.5, 1). The bin next to that of small numbers has e = smallest_power + 1.
at::Tensor bins_of(const at::Tensor& values) {
  const at::Tensor exponents = std::get<1>(at::frexp(values)).to(at::kLong);
  const at::Tensor steps = exponents.sub(smallest_power).clamp(0, num_powers);
  return at::bincount(steps.mul(values.sign().to(at::kLong)).add(small_bin), {}, num_bins);
}

// The elements of one parameter of a bucket that this rank counts.
at::Tensor counted_part(const GradientBucket& bucket, const FlatSegment& segment, const at::Tensor& of) {
  const comm::Range mine = comm::part_of(bucket.grad.numel(), bucket.replicas, bucket.replica);
  const std::int64_t begin = std::max<std::int64_t>(mine.begin, segment.begin - bucket.begin);
  const std::int64_t end =
      std::min<std::int64_t>(mine.begin + mine.size(), segment.begin - bucket.begin + segment.count);
  return begin < end ? of.narrow(0, begin, end - begin) : of.narrow(0, 0, 0);
}

}  // namespace

TensorCounts counts_of(const at::Tensor& tensor, double scale) {
  at::Tensor values = tensor.detach().flatten().to(at::kFloat).to(at::kDouble).mul(scale);
  const at::Tensor finite = at::isfinite(values);
  const auto all = values.numel();
  values = values.masked_select(finite);
  TensorCounts counts;
  counts.elements = static_cast<double>(values.numel());
  counts.not_finite = static_cast<double>(all - values.numel());
  counts.bins.assign(static_cast<std::size_t>(num_bins), 0.0);
  if (values.numel() == 0) return counts;
  counts.sum = values.sum().item<double>();
  counts.sum_of_squares = values.square().sum().item<double>();
  counts.largest = values.abs().max().item<double>();
  const at::Tensor bins = bins_of(values).cpu();
  const auto* filled = bins.const_data_ptr<std::int64_t>();
  std::copy(filled, filled + num_bins, counts.bins.begin());
  return counts;
}

void watch_tensors(const FlatParameters& parameters, const WatchedGroups& groups, double gradient_scale,
                   TensorStatistics& statistics) {
  for (const GradientBucket& bucket : parameters.buckets()) {
    for (const FlatSegment& segment : bucket.segments) {
      const std::string& name = parameters.parameters()[segment.parameter].name;
      std::size_t group = 0;
      for (const auto& [ignored, pattern] : groups) {
        const std::size_t index = group++;
        if (!matches(pattern, name)) continue;
        statistics.update(index, WatchedKind::gradient,
                          counts_of(counted_part(bucket, segment, bucket.grad), gradient_scale));
        statistics.update(index, WatchedKind::parameter,
                          counts_of(counted_part(bucket, segment, bucket.data), 1));
      }
    }
  }
}

}  // namespace d9d
