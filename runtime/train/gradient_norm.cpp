#include "runtime/train/gradient_norm.hpp"

#include <ATen/ops/max.h>

#include "kernels/optimizer.hpp"
#include "runtime/comm/reduce.hpp"

namespace d9d {
namespace {

at::Tensor part_of_replica(const GradientBucket& bucket) {
  const comm::Range part = comm::part_of(bucket.grad.numel(), bucket.replicas, bucket.replica);
  return bucket.grad.narrow(0, part.begin, part.size());
}

}  // namespace

double squares_share(const GradientBucket& bucket) {
  const at::Tensor part = part_of_replica(bucket);
  const bool is_flat_kernel =
      part.is_cpu() && (part.scalar_type() == at::kFloat || part.scalar_type() == at::kBFloat16);
  if (is_flat_kernel) return kernels::sum_of_squares(part);
  return part.to(at::kDouble).square().sum().item<double>();
}

}  // namespace d9d
