#include "runtime/rank/state/awake_ranks.hpp"

#include <gtest/gtest.h>

#include "tests/support/idle_device.hpp"

namespace d9d {
namespace {

struct TrimmedDevice final : test::IdleDevice {
  void trim() override { ++trims; }
  int trims = 0;
};

struct AwakeRanksTest : ::testing::Test {
  AwakeRanksTest() {
    ranks.add();
    ranks.add();
  }
  AwakeRanks ranks;
  TrimmedDevice one, other;
};

TEST_F(AwakeRanksTest, TheLastToFallAsleepTrimsTheDevicesOfAll) {
  ranks.fall_asleep({&one});
  EXPECT_EQ(one.trims, 0) << "the other one may be in the middle of a collective";

  ranks.fall_asleep({&other});

  EXPECT_EQ(one.trims, 1);
  EXPECT_EQ(other.trims, 1);
  ranks.wake();
  ranks.wake();
  ranks.fall_asleep({&one});
  ranks.fall_asleep({&one});
  EXPECT_EQ(one.trims, 2) << "of two ranks with one device";
  EXPECT_EQ(other.trims, 1);
}

TEST_F(AwakeRanksTest, OneThatWakesBeforeTheLastSleepsIsNotDisturbed) {
  ranks.fall_asleep({&one});
  ranks.wake();

  ranks.fall_asleep({&other});

  EXPECT_EQ(one.trims + other.trims, 0);
}

TEST_F(AwakeRanksTest, OneThatEndsIsNotWaitedFor) {
  ranks.remove();

  ranks.fall_asleep({&one});

  EXPECT_EQ(one.trims, 1);
}

}  // namespace
}  // namespace d9d
