#include "runtime/devices/delayed/clock.hpp"

#include <gtest/gtest.h>

namespace d9d::delayed {
namespace {

TEST(DelayedClock, CoversWhatItHasJoined) {
  const int one = stream_place(0, 1), other = stream_place(7, 3);
  Clock clock, of_other;
  clock.at(one) = 5;
  of_other.at(other) = 9;
  EXPECT_FALSE(clock.covers(of_other));
  EXPECT_FALSE(of_other.covers(clock));

  clock.join(of_other);

  EXPECT_TRUE(clock.covers(of_other));
  EXPECT_TRUE(clock.covers(one, 5));
  EXPECT_FALSE(clock.covers(one, 6));
  EXPECT_TRUE(clock.covers(other, 9));
}

TEST(DelayedClock, NamesStreams) {
  EXPECT_EQ(stream_name(stream_place(0, 0)), "delayed:0 compute");
  EXPECT_EQ(stream_name(stream_place(7, 3)), "delayed:7 copy_out");
}

}  // namespace
}  // namespace d9d::delayed
