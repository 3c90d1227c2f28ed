#include "runtime/train/gradient_norm.hpp"

#include <ATen/ops/aminmax.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/optimizer.hpp"
#include "runtime/comm/reduce.hpp"

namespace d9d {
namespace {

at::Tensor part_of_replica(const GradientBucket& bucket) {
  const comm::Range part = comm::part_of(bucket.grad.numel(), bucket.replicas, bucket.replica);
  return bucket.grad.narrow(0, part.begin, part.size());
}

double sum_of_squares(const at::Tensor& part) {
  const bool is_flat_kernel = part.scalar_type() == at::kFloat || part.scalar_type() == at::kBFloat16;
  if (is_flat_kernel) return kernels::sum_of_squares(part);
  return part.to(at::kDouble).square().sum().item<double>();
}

double largest_value(const at::Tensor& part) {
  if (part.numel() == 0) return 0;
  const auto [smallest, largest] = at::aminmax(part);
  const double value = std::max(-smallest.item<double>(), largest.item<double>());
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

}  // namespace

double share_of_norm(const GradientBucket& bucket, NormType type) {
  const at::Tensor part = part_of_replica(bucket);
  return type == NormType::l2 ? sum_of_squares(part) : largest_value(part);
}

}  // namespace d9d
