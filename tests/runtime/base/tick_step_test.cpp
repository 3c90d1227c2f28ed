#include "runtime/base/tick_step.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(TickStep, IsTheSmallestRoundNumberThatGivesFewEnough) {
  EXPECT_DOUBLE_EQ(tick_step(33, 10), 5);
  EXPECT_DOUBLE_EQ(tick_step(10, 10), 1);
  EXPECT_DOUBLE_EQ(tick_step(0.7, 5), 0.2);
  EXPECT_DOUBLE_EQ(tick_step(61, 6), 20);
}

}  // namespace
}  // namespace d9d
