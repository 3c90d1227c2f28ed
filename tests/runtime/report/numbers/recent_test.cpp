#include "runtime/report/numbers/recent.hpp"

#include <gtest/gtest.h>

namespace d9d::report {
namespace {

// Six steps, a minute each, from the loss 12 down to 2.
Curves six_minutes() {
  Curves curves;
  curves.all = {{"loss", {1, 2, 3, 4, 5, 6}, {12, 10, 8, 6, 4, 2}},
                {"time", {1, 2, 3, 4, 5, 6}, {0, 60, 120, 180, 240, 300}},
                {"step_seconds", {1, 2, 3, 4, 5, 6}, {60, 60, 60, 60, 60, 60}}};
  return curves;
}

TEST(Recent, LossIsThatOfTheLastMinutesBesideTheOnesBefore) {
  const auto loss = recent_loss(six_minutes(), 120);

  ASSERT_TRUE(loss);
  EXPECT_DOUBLE_EQ(loss->mean, 3);
  EXPECT_DOUBLE_EQ(loss->before.value(), 7);
  EXPECT_FALSE(recent_loss(six_minutes(), 3600)->before);
  EXPECT_FALSE(recent_loss({}, 60));
}

TEST(Recent, TimeLeftCountsEvaluations) {
  Curves curves = six_minutes();
  EXPECT_DOUBLE_EQ(seconds_left(curves, 6, 16).value(), 600);
  curves.all.push_back({"evaluation/seconds", {3, 6}, {30, 30}});
  EXPECT_DOUBLE_EQ(seconds_left(curves, 6, 16).value(), 700) << "10 s of a step's share";
  EXPECT_FALSE(seconds_left(curves, 16, 16));
  EXPECT_FALSE(seconds_left({}, 1, 16));
}

}  // namespace
}  // namespace d9d::report
