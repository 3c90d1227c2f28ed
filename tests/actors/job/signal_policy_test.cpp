#include "actors/job/signal_policy.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace d9d {
namespace {

using Action = SignalPolicy::Action;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr bool kRunning = true;

TEST(SignalPolicy, TheFirstOneIsToldToTheJobAndSetsADeadline) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGTERM, kRunning, 7 * kSecond), Action::tell);

  EXPECT_EQ(policy.deadline_ns(), 32 * kSecond);
  EXPECT_EQ(policy.exit_code(), 143);
}

TEST(SignalPolicy, TheSameSignalPassedOnByALauncherIsNoSecondOne) {
  SignalPolicy policy(std::chrono::seconds(25));
  policy.arrived(SIGINT, kRunning, kSecond);

  EXPECT_EQ(policy.arrived(SIGTERM, kRunning, kSecond + kSecond / 10), Action::ignore);

  EXPECT_EQ(policy.exit_code(), 130) << "the first one counts";
  EXPECT_FALSE(policy.hurries());
}

TEST(SignalPolicy, ASecondOneStopsNowAndAThirdLeavesWithoutTheJob) {
  SignalPolicy policy(std::chrono::seconds(25));
  policy.arrived(SIGINT, kRunning, kSecond);

  EXPECT_EQ(policy.arrived(SIGINT, kRunning, 3 * kSecond), Action::tell_now);
  EXPECT_TRUE(policy.hurries());
  EXPECT_LE(policy.deadline_ns(), 6 * kSecond) << "no longer the grace of the first";
  EXPECT_EQ(policy.arrived(SIGINT, kRunning, 4 * kSecond), Action::leave);
}

TEST(SignalPolicy, WithoutAJobTheProcessLeavesAtOnce) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGTERM, !kRunning, kSecond), Action::leave);
  EXPECT_EQ(policy.exit_code(), 143);
}

TEST(SignalPolicy, ACheckpointIsAskedForOnlyOfARunningJobThatGoesOn) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGUSR1, !kRunning, kSecond), Action::ignore);
  EXPECT_EQ(policy.arrived(SIGUSR1, kRunning, kSecond), Action::tell);
  EXPECT_EQ(policy.arrived(SIGUSR1, kRunning, kSecond), Action::tell);
  EXPECT_FALSE(policy.deadline_ns().has_value());
  policy.arrived(SIGTERM, kRunning, 2 * kSecond);
  EXPECT_EQ(policy.arrived(SIGUSR1, kRunning, 3 * kSecond), Action::ignore) << "it writes one anyway";
}

}  // namespace
}  // namespace d9d
