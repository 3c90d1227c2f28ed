#include "runtime/base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

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

TEST(RandomStream, NormalsInBulkAreTheSameBitForBit) {
  const RandomStream stream(7, "normal", 3);
  const std::uint64_t first = 0xFFFFFFF0;  // the low word of the counter wraps inside
  std::vector<float> bulk(1300);

  stream.fill_normal(first, bulk.size(), bulk.data());

  for (std::size_t i = 0; i < bulk.size(); ++i) ASSERT_EQ(bulk[i], stream.normal(first + i)) << i;
}

TEST(RandomStream, NormalsAreThoseOfTheExactFormula) {
  const RandomStream stream(11, "normal");

  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto words = stream.words(i);
    const double radius = std::sqrt(-2.0 * std::log((words[0] + 0.5) * 0x1.0p-32));
    const double exact = radius * std::cos(2.0 * std::numbers::pi * words[1] * 0x1.0p-32);
    ASSERT_NEAR(stream.normal(i), exact, 4e-7) << i;
  }
}

TEST(RandomStream, BelowStaysInItsBoundAndReachesEveryValue) {
  const RandomStream stream(3, "below");
  std::array<int, 5> seen{};

  for (int i = 0; i < 1000; ++i) ++seen.at(stream.below(i, 5));

  for (const int count : seen) EXPECT_GT(count, 120);
}

}  // namespace
}  // namespace d9d
