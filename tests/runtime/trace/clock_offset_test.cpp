#include "runtime/trace/clock_offset.hpp"

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace d9d::trace {
namespace {

TEST(ClockOffset, IsExactWhenBothWaysTakeTheSameTime) {
  ClockOffset offset;

  EXPECT_TRUE(
      offset.add({.local_sent = 100, .remote_received = 5'120, .remote_sent = 5'130, .local_received = 150}));

  EXPECT_EQ(offset.offset_ns(), 5'000);
  EXPECT_EQ(offset.error_ns(), 20);
}

TEST(ClockOffset, TrustsTheShortestRoundTrip) {
  ClockOffset offset;

  offset.add({.local_sent = 0, .remote_received = 5'900, .remote_sent = 5'900, .local_received = 1'000});
  offset.add({.local_sent = 2'000, .remote_received = 7'010, .remote_sent = 7'010, .local_received = 2'020});
  offset.add({.local_sent = 3'000, .remote_received = 8'001, .remote_sent = 8'001, .local_received = 3'900});

  EXPECT_EQ(offset.offset_ns(), 5'000);
  EXPECT_EQ(offset.error_ns(), 10);
}

TEST(ClockOffset, HoldsTheTruthWithinItsErrorWhateverTheDelays) {
  const RandomStream random(5, "delays");
  const std::int64_t truth = -987'654'321;
  ClockOffset offset;

  for (std::int64_t i = 0; i < 100; ++i) {
    const std::int64_t sent = i * 1'000'000;
    const auto there = static_cast<std::int64_t>(20'000 + random.below(3 * i, 400'000));
    const auto work = static_cast<std::int64_t>(random.below(3 * i + 1, 50'000));
    const auto back = static_cast<std::int64_t>(20'000 + random.below(3 * i + 2, 400'000));
    offset.add({sent, sent + there + truth, sent + there + work + truth, sent + there + work + back});
  }

  EXPECT_LE(std::abs(offset.offset_ns() - truth), offset.error_ns());
  EXPECT_LT(offset.error_ns(), 100'000);
}

TEST(ClockOffset, ForgetsOldExchangesSoThatDriftIsFollowed) {
  ClockOffset offset(2);

  offset.add({.local_sent = 0, .remote_received = 1'001, .remote_sent = 1'001, .local_received = 2});
  for (int i = 1; i <= 2; ++i) {
    offset.add({i * 100, i * 100 + 2'010, i * 100 + 2'010, i * 100 + 20});
  }

  EXPECT_EQ(offset.offset_ns(), 2'000);
}

TEST(ClockOffset, IgnoresExchangesThatCannotBe) {
  ClockOffset offset;

  EXPECT_FALSE(offset.add({.local_sent = 10, .remote_received = 0, .remote_sent = 0, .local_received = 5}));
  EXPECT_FALSE(offset.add({.local_sent = 0, .remote_received = 9, .remote_sent = 5, .local_received = 5}));
  EXPECT_FALSE(offset.add({.local_sent = 0, .remote_received = 0, .remote_sent = 50, .local_received = 5}));
  EXPECT_FALSE(offset.known());
}

}  // namespace
}  // namespace d9d::trace
