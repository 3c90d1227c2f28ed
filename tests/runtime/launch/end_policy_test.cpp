#include "runtime/launch/end_policy.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(EndPolicy, LeavesAJobAloneThatGoesWell) {
  EndPolicy policy(std::chrono::seconds(20));

  policy.ended(0, 1 * second);

  EXPECT_EQ(policy.due(1000 * second), Push::none);
  EXPECT_FALSE(policy.deadline_ns());
  EXPECT_EQ(policy.exit_code(), 0);
}

TEST(EndPolicy, AfterAFailureTheOthersHaveTheGraceThenASignalThenSeconds) {
  EndPolicy policy(std::chrono::seconds(20));

  policy.ended(137, 10 * second);
  policy.ended(1, 12 * second);

  EXPECT_EQ(policy.exit_code(), 137) << "of the first";
  EXPECT_EQ(policy.deadline_ns(), 30 * second);
  EXPECT_EQ(policy.due(29 * second), Push::none);
  EXPECT_EQ(policy.due(30 * second), Push::terminate);
  EXPECT_EQ(policy.due(34 * second), Push::none);
  EXPECT_EQ(policy.due(35 * second), Push::kill);
  EXPECT_EQ(policy.due(99 * second), Push::none);
}

TEST(EndPolicy, WhereTheInputIsAtFaultNobodyWaitsForAJobThatHasNotBegun) {
  EndPolicy policy(std::chrono::seconds(20));

  policy.ended(2, 10 * second);

  EXPECT_EQ(policy.due(13 * second), Push::terminate);
}

TEST(EndPolicy, WhoeverIsAskedToEndIsKilledWhenItsOwnTimeIsLongOver) {
  EndPolicy policy(std::chrono::seconds(20));

  policy.asked_to_end(20 * second);
  EXPECT_EQ(policy.due(24 * second), Push::none);
  policy.asked_to_end(12 * second);  // a second signal came
  EXPECT_EQ(policy.deadline_ns(), 17 * second);

  EXPECT_EQ(policy.due(17 * second), Push::kill);
  EXPECT_EQ(policy.exit_code(), 0);
}

}  // namespace
}  // namespace d9d
