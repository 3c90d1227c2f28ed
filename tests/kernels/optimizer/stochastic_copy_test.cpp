// OPT-04. What one rounding does: stochastic_adamw_test.cpp; the bits of GPUs: the file of that name below cuda/.
#include "kernels/optimizer/stochastic_copy.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::RandomKey;
using kernels::stochastic_copy;
using testing::AllOf;
using testing::HasSubstr;

at::Tensor copy_of(const at::Tensor& source, const RandomKey& key) {
  at::Tensor target = at::zeros(source.sizes(), at::kBFloat16);
  stochastic_copy(source, target, key);
  return target;
}

// A quarter of the way from 1 to the next bf16, 1 + 2^-7: the mean of n roundings has a standard deviation of
// sqrt(3) / 4 of the distance by sqrt(n); five of them are allowed.
TEST(StochasticCopy, HasTheSourceAsItsMean) {
  constexpr double next = 1.0 / 128, count = 65536;
  const at::Tensor target = copy_of(at::full({65536}, 1 + next / 4), {1, 2, 3}).to(at::kDouble);

  EXPECT_EQ(((target == 1).logical_or(target == 1 + next)).all().item<bool>(), true);
  EXPECT_NEAR(target.mean().item<double>(), 1 + next / 4, 5 * 0.433 * next / std::sqrt(count));
}

TEST(StochasticCopy, RepeatsItsBitsWithItsKeyOnly) {
  const at::Tensor source = values({37, 5}, 1, at::kFloat);
  const at::Tensor target = copy_of(source, {1, 2, 3});

  EXPECT_TRUE(at::equal(copy_of(source, {1, 2, 3}), target));
  EXPECT_FALSE(at::equal(copy_of(source, {1, 2, 4}), target));
}

// Columns 2 .. 5 of five rows: their bits are those that a copy of the whole tensor has there.
TEST(StochasticCopy, OfABlockHasTheBitsOfTheWhole) {
  const at::Tensor source = values({5, 9}, 1, at::kFloat), whole = copy_of(source, {1, 2, 3});
  const at::Tensor block = at::zeros({5, 3}, at::kBFloat16);

  stochastic_copy(source.narrow(1, 2, 3), block, {1, 2, 3},
                  {.base = 2, .run = 3, .dims = 1, .shape = {5}, .stride = {9}});

  EXPECT_TRUE(at::equal(block, whole.narrow(1, 2, 3)));
}

TEST(StochasticCopy, OfNothingIsNothing) {
  EXPECT_EQ(copy_of(at::zeros({0, 3}), {}).numel(), 0);
}

TEST(StochasticCopy, RefusesOtherDtypesShapesAndTargetsWithGaps) {
  const auto message = [](const at::Tensor& source, const at::Tensor& target) -> std::string {
    try {
      stochastic_copy(source, target, {});
      return "";
    } catch (const c10::Error& error) {
      return error.what();
    }
  };
  const at::Tensor source = at::zeros({2, 3}), target = at::zeros({2, 3}, at::kBFloat16);
  EXPECT_THAT(message(source.to(at::kDouble), target),
              AllOf(HasSubstr("Double"), HasSubstr("float32 to bfloat16")));
  EXPECT_THAT(message(source, at::zeros({2, 3})), HasSubstr("float32 to bfloat16"));
  EXPECT_THAT(message(source, at::zeros({3, 2}, at::kBFloat16)),
              AllOf(HasSubstr("[3, 2]"), HasSubstr("one shape")));
  EXPECT_THAT(message(source, at::zeros({3, 2}, at::kBFloat16).t()), HasSubstr("has to be contiguous"));
}

}  // namespace
}  // namespace d9d::test
