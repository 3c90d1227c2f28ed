#include "kernels/optimizer/stochastic_adamw.hpp"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace d9d::test {
namespace {

using kernels::from_bfloat16;
using kernels::round_stochastically;

TEST(StochasticRounding, RoundsUpAsOftenAsTheDistanceSays) {
  const float value = 1 + 0.25F / 128;  // a quarter of the way from 1 to the next bf16
  int up = 0;
  for (std::uint32_t noise = 0; noise < 1U << 16; ++noise)
    up += from_bfloat16(round_stochastically(value, noise)) > 1;

  EXPECT_EQ(up, (1 << 16) / 4);
}

TEST(StochasticRounding, LeavesWhatBfloat16CanHoldAndKeepsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::uint32_t noise : {0U, 1U, 0xffffU}) {
    EXPECT_EQ(from_bfloat16(round_stochastically(-1.5F, noise)), -1.5F);
    EXPECT_EQ(from_bfloat16(round_stochastically(-infinity, noise)), -infinity);
    EXPECT_TRUE(std::isnan(from_bfloat16(round_stochastically(std::nanf(""), noise))));
  }
}

// What it computes: tests/runtime/train/optimizer/stochastic_adamw_test.cpp.
TEST(StochasticAdamW, RefusesOtherTypesAndLengths) {
  const auto step = [](at::ScalarType param, int64_t grads, at::ScalarType first) {
    kernels::stochastic_adamw_step(at::zeros({8}, param), at::zeros({grads}, at::kFloat),
                                   at::zeros({8}, first), at::zeros({8}, at::kFloat), {.step = 1}, {});
  };
  EXPECT_THROW(step(at::kFloat, 8, at::kFloat), c10::Error);
  EXPECT_THROW(step(at::kBFloat16, 7, at::kFloat), c10::Error);
  EXPECT_THROW(step(at::kBFloat16, 8, at::kBFloat16), c10::Error);
}

}  // namespace
}  // namespace d9d::test
