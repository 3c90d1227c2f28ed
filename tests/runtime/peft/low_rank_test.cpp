#include "runtime/peft/low_rank.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace d9d::test {
namespace {

TEST(LowRank, ScalesByTheRankOrItsRoot) {
  EXPECT_DOUBLE_EQ(scale_of({.r = 4, .alpha = 6}), 1.5);
  EXPECT_DOUBLE_EQ(scale_of({.r = 4, .alpha = 6, .use_rslora = true}), 3);
}

TEST(LowRank, RoundsAMergedWeightOnce) {
  const auto bf16 = [](double value) { return at::full({1, 1}, value, at::kBFloat16); };

  // 1 + 1.5 * 2^-9 is between 1 and the next number of bfloat16, nearer to 1.
  EXPECT_EQ(merged_weight(bf16(1), bf16(0.001953125), bf16(1), 1.5).item<float>(), 1);
  EXPECT_EQ(merged_weight(bf16(1), bf16(0.0078125), bf16(1), 1).item<float>(), 1.0078125F);
}

// W + 2 B A has the rows (3, 4) and (0, 5).
TEST(LowRank, GivesMergedRowsTheLengthsOfTheMagnitudes) {
  const at::Tensor weight = at::tensor({1.0, 0.0, 0.0, 5.0}).view({2, 2});
  const at::Tensor a = at::tensor({1.0, 2.0}).view({1, 2}), b = at::tensor({1.0, 0.0}).view({2, 1});

  EXPECT_DOUBLE_EQ(row_lengths(weight, a, b, 2)[0].item<double>(), 5);
  EXPECT_DOUBLE_EQ(row_lengths(weight, a, b, 2)[1].item<double>(), 5);
  const at::Tensor merged = merged_weight(weight, a, b, 2, at::tensor({10.0, 1.0}));

  EXPECT_DOUBLE_EQ(merged[0][0].item<double>(), 6);
  EXPECT_DOUBLE_EQ(merged[0][1].item<double>(), 8);
  EXPECT_DOUBLE_EQ(merged[1][1].item<double>(), 1);
}

}  // namespace
}  // namespace d9d::test
