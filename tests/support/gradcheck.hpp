#pragma once
// Oracles for differentiable ops: a reference in fp64 with torch's autograd, and central differences.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace d9d::test {

using Tensors = std::vector<at::Tensor>;
using Op = std::function<Tensors(const Tensors&)>;

// Values in [-1, 1) from a hash of (seed, index): the same on every machine, no generator.
at::Tensor values(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType dtype = at::kDouble);
// Integers in [0, bound), int64.
at::Tensor integers(at::IntArrayRef sizes, std::int64_t bound, std::uint64_t seed);

// The one tolerance table: largest difference allowed, relative to the largest expected value.
double tolerance(at::ScalarType dtype);
void expect_close(const at::Tensor& actual, const at::Tensor& expected, double relative, const char* what);

// Outputs and the gradients of every floating input of `op` in `dtype` against
// `reference` in fp64, both with the same upstream gradients. Inputs are given
// in fp64 and rounded to `dtype` for both; integer inputs pass as they are.
void expect_matches(const Op& op, const Op& reference, const Tensors& inputs, at::ScalarType dtype);
// The same for float32, bfloat16 and float64.
void expect_matches_in_every_dtype(const Op& op, const Op& reference, const Tensors& inputs);

// Gradients of every floating input (fp64) against central differences; relative difference below 1e-6.
void gradcheck(const Op& op, const Tensors& inputs);

}  // namespace d9d::test
