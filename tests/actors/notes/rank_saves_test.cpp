#include "actors/notes/rank_saves.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(RankSaves, ASecondOneWaitsUntilTheFirstIsWritten) {
  RankSaves saves(true);
  saves.add({.step = 3});
  ASSERT_NE(saves.begin(), nullptr);
  EXPECT_FALSE(saves.is_due());
  saves.add({.step = 4});

  EXPECT_EQ(saves.begin(), nullptr);
  EXPECT_TRUE(saves.is_due());
  EXPECT_EQ(saves.in_flight(4), nullptr);
  EXPECT_EQ(saves.in_flight(3), saves.in_flight());

  saves.conclude();
  ASSERT_NE(saves.begin(), nullptr);
  EXPECT_EQ(saves.in_flight()->step, 4U);
  saves.conclude();
  EXPECT_EQ(saves.begin(), nullptr);
  EXPECT_FALSE(saves.is_saving());
}

TEST(RankSaves, AWishIsForOneStepAndForAJobThatWritesCheckpoints) {
  RankSaves saves(true), off(false);
  saves.ask();
  off.ask();

  EXPECT_TRUE(saves.take_asked());
  EXPECT_FALSE(saves.take_asked());
  EXPECT_FALSE(off.take_asked());
}

}  // namespace
}  // namespace d9d
