#include "tests/support/gradcheck.hpp"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace d9d::test {
namespace {

std::uint64_t hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

Tensors leaves(const Tensors& inputs, at::ScalarType rounded, at::ScalarType dtype) {
  Tensors result;
  for (const auto& input : inputs) {
    if (!input.defined() || !input.is_floating_point()) {
      result.push_back(input);
      continue;
    }
    // A copy with the strides of the input: non-contiguous inputs stay so.
    at::Tensor leaf = input.to(rounded).to(dtype);
    if (!input.is_contiguous())
      leaf = at::empty_strided(input.sizes(), input.strides(), leaf.options()).copy_(leaf);
    result.push_back(leaf.detach().requires_grad_(true));
  }
  return result;
}

struct Result {
  Tensors outputs, gradients;
};

Result run(const Op& op, const Tensors& inputs, at::ScalarType rounded) {
  Result result{op(inputs), {}};
  Tensors roots, upstream, wanted;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const auto& output = result.outputs[i];
    if (!output.is_floating_point() || !output.requires_grad()) continue;
    roots.push_back(output);
    upstream.push_back(values(output.sizes(), 1000 + i).to(rounded).to(output.scalar_type()));
  }
  for (const auto& input : inputs) {
    if (input.defined() && input.requires_grad()) wanted.push_back(input);
  }
  result.gradients = torch::autograd::grad(roots, wanted, upstream, false, false, true);
  return result;
}

double objective(const Op& op, const Tensors& inputs) {
  double total = 0;
  const auto outputs = op(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    total += (outputs[i].to(at::kDouble) * values(outputs[i].sizes(), 1000 + i)).sum().item<double>();
  }
  return total;
}

at::Tensor numerical_gradient(const Op& op, const Tensors& inputs, const at::Tensor& input) {
  constexpr double step = 1e-5;
  at::Tensor gradient = at::zeros_like(input);
  auto* value = input.data_ptr<double>();
  for (std::int64_t i = 0; i < input.numel(); ++i) {
    const double kept = value[i];
    value[i] = kept + step;
    const double above = objective(op, inputs);
    value[i] = kept - step;
    const double below = objective(op, inputs);
    value[i] = kept;
    gradient.data_ptr<double>()[i] = (above - below) / (2 * step);
  }
  return gradient;
}

}  // namespace

at::Tensor values(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType dtype) {
  at::Tensor result = at::empty(sizes, at::kDouble);
  auto* value = result.data_ptr<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const std::uint64_t bits = hash(hash(seed) + static_cast<std::uint64_t>(i));
    value[i] = std::ldexp(static_cast<double>(bits >> 11), -52) - 1;
  }
  return result.to(dtype);
}

at::Tensor integers(at::IntArrayRef sizes, std::int64_t bound, std::uint64_t seed) {
  at::Tensor result = at::empty(sizes, at::kLong);
  auto* value = result.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const std::uint64_t bits = hash(hash(seed) + static_cast<std::uint64_t>(i));
    value[i] = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(bound));
  }
  return result;
}

double tolerance(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-10;
    case at::kFloat:
      return 5e-6;
    default:
      return 2e-2;  // bfloat16: 8 bits of mantissa, a few roundings
  }
}

void expect_close(const at::Tensor& actual, const at::Tensor& expected, double relative, const char* what) {
  ASSERT_EQ(actual.defined(), expected.defined()) << what;
  if (!actual.defined()) return;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  if (actual.numel() == 0) return;
  const at::Tensor difference = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs();
  const double scale = expected.to(at::kDouble).abs().max().item<double>();
  // Test values are of order one: a result that is near zero by cancellation may miss it by their rounding (by 1.01e-7
  // in fp32 with the MKL of an Intel Xeon, by 1.56e-7 where 65,000 words cancel, with AVX2). A NaN fails, too.
  EXPECT_LE(difference.max().item<double>(), relative * std::max(scale, 0.05))
      << what << ", largest value " << scale;
}

void expect_matches(const Op& op, const Op& reference, const Tensors& inputs, at::ScalarType dtype) {
  const auto actual = run(op, leaves(inputs, dtype, dtype), dtype);
  const auto expected = run(reference, leaves(inputs, dtype, at::kDouble), dtype);

  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < actual.outputs.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i) + " in " + c10::toString(dtype));
    expect_close(actual.outputs[i], expected.outputs[i], tolerance(dtype), "value");
  }
  for (std::size_t i = 0; i < actual.gradients.size(); ++i) {
    SCOPED_TRACE("gradient " + std::to_string(i) + " in " + c10::toString(dtype));
    expect_close(actual.gradients[i], expected.gradients[i], tolerance(dtype), "value");
  }
}

void expect_matches_in_every_dtype(const Op& op, const Op& reference, const Tensors& inputs) {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16})
    expect_matches(op, reference, inputs, dtype);
}

void gradcheck(const Op& op, const Tensors& inputs) {
  const auto given = leaves(inputs, at::kDouble, at::kDouble);
  const auto actual = run(op, given, at::kDouble).gradients;

  c10::NoGradGuard no_grad;
  std::size_t next = 0;
  for (const auto& input : given) {
    if (!input.defined() || !input.requires_grad()) continue;
    ASSERT_TRUE(input.is_contiguous()) << "gradcheck moves contiguous inputs";
    SCOPED_TRACE("gradient " + std::to_string(next));
    expect_close(actual[next++], numerical_gradient(op, given, input), 1e-6, "against central differences");
  }
}

}  // namespace d9d::test
