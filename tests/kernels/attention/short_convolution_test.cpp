#include "kernels/attention/short_convolution.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

// x [B, S, H, W], weight [C, 1, K].
at::Tensor reference_convolution(const at::Tensor& x, const at::Tensor& weight, std::int64_t first) {
  const std::int64_t channels = x.size(2) * x.size(3), taps = weight.size(2);
  const at::Tensor rows = x.flatten(2).transpose(1, 2);
  const at::Tensor sums = at::conv1d(rows, weight.narrow(0, first, channels), {}, 1, taps - 1, 1, channels);
  return at::silu(sums.narrow(2, 0, x.size(1))).transpose(1, 2).reshape(x.sizes());
}

void expect_convolution(const at::Tensor& x, const at::Tensor& weight, std::int64_t first) {
  expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors { return {kernels::short_convolution(in[0], in[1], first)}; },
      [=](const Tensors& in) -> Tensors { return {reference_convolution(in[0], in[1], first)}; },
      {x, weight});
}

TEST(ShortConvolution, IsTorchsOfThoseRowsOfTheWeight) {
  for (const std::int64_t taps : {1, 2, 4, 7}) {
    SCOPED_TRACE(taps);
    expect_convolution(values({2, 5, 3, 7}, 1), values({40, 1, taps}, 2), 6);
  }
  expect_convolution(values({2, 300, 2, 70}, 1), values({140, 1, 4}, 2), 0);
}

TEST(ShortConvolution, TakesHeadsThatAreViewsOfAJointProjection) {
  expect_convolution(values({2, 9, 3, 20}, 1).narrow(3, 4, 8), values({30, 1, 4}, 2), 2);
}

TEST(ShortConvolution, GradientsMatchCentralDifferences) {
  gradcheck([](const Tensors& in) -> Tensors { return {kernels::short_convolution(in[0], in[1], 1)}; },
            {values({2, 6, 2, 3}, 1), values({8, 1, 4}, 2)});
}

// The rows of their channels overlap, so that the weight's gradient is a sum over both.
TEST(ShortConvolution, OfSeveralInputsIsThatOfEach) {
  const auto at_once = [](const Tensors& in) -> Tensors {
    return kernels::short_convolution({{in[0], in[1]}, {1, 4}}, in[2]);
  };
  const auto one_by_one = [](const Tensors& in) -> Tensors {
    return {reference_convolution(in[0], in[2], 1), reference_convolution(in[1], in[2], 4)};
  };
  const Tensors in{values({2, 6, 2, 3}, 1), values({2, 6, 2, 5}, 3), values({15, 1, 4}, 2)};

  expect_matches_in_every_dtype(at_once, one_by_one, in);
  // A result alone leaves the other's input without a gradient.
  gradcheck(
      [&](const Tensors& of) -> Tensors {
        return {at_once({in[0], of[0], of[1]})[1]};
      },
      {in[1], in[2]});
}

TEST(ShortConvolution, NamesTheShapesThatDoNotFit) {
  EXPECT_THROW(kernels::short_convolution(values({1, 3, 2, 4}, 1), values({8, 1, 4}, 2), 1), c10::Error);
  EXPECT_THROW(kernels::short_convolution(values({1, 3, 8}, 1), values({8, 1, 4}, 2), 0), c10::Error);
  const at::Tensor x = values({1, 3, 2, 4}, 1), weight = values({8, 1, 4}, 2);
  EXPECT_THROW(kernels::short_convolution({{x, x}, {0}}, weight), c10::Error);
  EXPECT_THROW(kernels::short_convolution({{x, x.narrow(1, 0, 2)}, {0, 0}}, weight), c10::Error);
  EXPECT_THROW(kernels::short_convolution({{}, {}}, weight), c10::Error);
}

}  // namespace
}  // namespace d9d::test
