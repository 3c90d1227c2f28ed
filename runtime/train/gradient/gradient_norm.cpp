#include "runtime/train/gradient/gradient_norm.hpp"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "kernels/optimizer/optimizer.hpp"
#include "runtime/comm/reduce.hpp"

namespace d9d {
namespace {

at::Tensor part_of_replica(const GradientBucket& bucket) {
  const comm::Range part = comm::part_of(bucket.grad.numel(), bucket.replicas, bucket.replica);
  return bucket.grad.narrow(0, part.begin, part.size());
}

at::Tensor sum_of_squares(const at::Tensor& part) {
  const bool is_flat_kernel = part.scalar_type() == at::kFloat || part.scalar_type() == at::kBFloat16;
  if (is_flat_kernel) return kernels::sum_of_squares(part);
  return part.to(at::kDouble).square().sum().view({1});
}

at::Tensor largest_value(const at::Tensor& part) {
  if (part.numel() == 0) return at::zeros({1}, part.options().dtype(at::kDouble));
  const auto [smallest, largest] = at::aminmax(part);
  return at::maximum(smallest.neg(), largest).to(at::kDouble).view({1});
}

}  // namespace

at::Tensor share_of_norm_later(const GradientBucket& bucket, NormType type) {
  const at::Tensor part = part_of_replica(bucket);
  return type == NormType::l2 ? sum_of_squares(part) : largest_value(part);
}

// Turns NaN into infinity for the infinity norm: a sum over ranks keeps NaN, but a maximum would lose it.
double share_of_number(double number, NormType type) {
  return type == NormType::inf && std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
}

double share_of_norm(const GradientBucket& bucket, NormType type) {
  return share_of_number(share_of_norm_later(bucket, type).item<double>(), type);
}

}  // namespace d9d
