#include "runtime/base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace d9d {
namespace {

// Known answers published with the Random123 library (kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(RandomStream, IsAPureFunctionOfSeedPurposeStepAndElement) {
  const RandomStream a(1, "init:w"), again(1, "init:w"), other(1, "init:v"), later(1, "init:w", 1);

  EXPECT_EQ(a.bits64(77), again.bits64(77));
  EXPECT_NE(a.bits64(77), other.bits64(77));
  EXPECT_NE(a.bits64(77), later.bits64(77));
  EXPECT_NE(a.bits64(77), a.bits64(78));
}

TEST(RandomStream, NormalsHaveMeanZeroAndVarianceOne) {
  const RandomStream stream(7, "normal");
  const int n = 200000;
  double sum = 0, squares = 0;

  for (int i = 0; i < n; ++i) {
    const double x = stream.normal(i);
    sum += x;
    squares += x * x;
  }

  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(squares / n, 1.0, 0.015);
}

TEST(RandomStream, BelowStaysInItsBoundAndReachesEveryValue) {
  const RandomStream stream(3, "below");
  std::array<int, 5> seen{};

  for (int i = 0; i < 1000; ++i) ++seen.at(stream.below(i, 5));

  for (const int count : seen) EXPECT_GT(count, 120);
}

}  // namespace
}  // namespace d9d
