#include "runtime/peft/low_rank.hpp"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace d9d {
namespace {

at::ScalarType dtype_of_sum(const at::Tensor& weight) {
  return weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor sum_of(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale) {
  const at::ScalarType sum = dtype_of_sum(weight);
  return at::matmul(b.to(sum), a.to(sum)).mul_(scale).add_(weight);
}

}  // namespace

double scale_of(const LoraParameters& params) {
  const auto r = static_cast<double>(params.r);
  return params.alpha / (params.use_rslora ? std::sqrt(r) : r);
}

at::Tensor row_lengths(const at::Tensor& weight) {
  const c10::NoGradGuard no_grad;
  return at::linalg_vector_norm(weight.to(dtype_of_sum(weight)), 2, at::IntArrayRef({-1}));
}

at::Tensor row_lengths(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale) {
  const c10::NoGradGuard no_grad;
  return row_lengths(sum_of(weight, a, b, scale));
}

at::Tensor merged_sum(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale,
                      const at::Tensor& magnitudes) {
  const c10::NoGradGuard no_grad;
  at::Tensor merged = sum_of(weight, a, b, scale);
  if (magnitudes.defined())
    merged.mul_(magnitudes.to(merged.scalar_type()).div(row_lengths(merged)).unsqueeze(-1));
  return merged;
}

at::Tensor merged_weight(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b, double scale,
                         const at::Tensor& magnitudes) {
  return merged_sum(weight, a, b, scale, magnitudes).to(weight.scalar_type());
}

}  // namespace d9d
