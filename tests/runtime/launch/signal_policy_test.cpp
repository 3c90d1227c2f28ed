#include "runtime/launch/signal_policy.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace d9d {
namespace {

using Action = SignalPolicy::Action;

constexpr std::int64_t one_second = 1'000'000'000;
constexpr bool is_running = true;

TEST(SignalPolicy, TheFirstOneIsToldToTheJobAndSetsADeadline) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGTERM, is_running, 7 * one_second), Action::tell);

  EXPECT_EQ(policy.deadline_ns(), 32 * one_second);
  EXPECT_EQ(policy.exit_code(), 143);
}

TEST(SignalPolicy, TheSameSignalPassedOnByALauncherIsNoSecondOne) {
  SignalPolicy policy(std::chrono::seconds(25));
  policy.arrived(SIGINT, is_running, one_second);

  EXPECT_EQ(policy.arrived(SIGTERM, is_running, one_second + one_second / 10), Action::ignore);

  EXPECT_EQ(policy.exit_code(), 130) << "the first one counts";
  EXPECT_FALSE(policy.hurries());
}

// The first one may reach a busy worker late, the second one at once: 251 ms apart at the supervisor, 249 ms there.
TEST(SignalPolicy, WhatIsASecondOneToTheSupervisorIsOneToItsWorkers) {
  constexpr std::int64_t one_ms = 1'000'000;
  SignalPolicy supervisor(std::chrono::seconds(25), same_signal_to_supervisor_within);
  SignalPolicy worker(std::chrono::seconds(25));
  supervisor.arrived(SIGINT, is_running, one_second);
  worker.arrived(SIGINT, is_running, one_second + 2 * one_ms);

  EXPECT_EQ(supervisor.arrived(SIGINT, is_running, one_second + 251 * one_ms), Action::ignore);
  EXPECT_EQ(supervisor.arrived(SIGINT, is_running, one_second + 499 * one_ms), Action::ignore);
  EXPECT_EQ(supervisor.arrived(SIGINT, is_running, one_second + 500 * one_ms), Action::tell_now);
  EXPECT_EQ(worker.arrived(SIGINT, is_running, one_second + 500 * one_ms), Action::tell_now);
}

TEST(SignalPolicy, AHangUpIsAskingForTheEnd) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGHUP, is_running, one_second), Action::tell);

  EXPECT_EQ(policy.exit_code(), 129);
}

TEST(SignalPolicy, ASecondOneStopsNowAndAThirdLeavesWithoutTheJob) {
  SignalPolicy policy(std::chrono::seconds(25));
  policy.arrived(SIGINT, is_running, one_second);

  EXPECT_EQ(policy.arrived(SIGINT, is_running, 3 * one_second), Action::tell_now);
  EXPECT_TRUE(policy.hurries());
  EXPECT_LE(policy.deadline_ns(), 6 * one_second) << "no longer the grace of the first";
  EXPECT_EQ(policy.arrived(SIGINT, is_running, 4 * one_second), Action::leave);
}

TEST(SignalPolicy, WithoutAJobTheProcessLeavesAtOnce) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGTERM, !is_running, one_second), Action::leave);
  EXPECT_EQ(policy.exit_code(), 143);
}

TEST(SignalPolicy, ACheckpointIsAskedForOnlyOfARunningJobThatGoesOn) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGUSR1, !is_running, one_second), Action::ignore);
  EXPECT_EQ(policy.arrived(SIGUSR1, is_running, one_second), Action::tell);
  EXPECT_EQ(policy.arrived(SIGUSR1, is_running, one_second), Action::tell);
  EXPECT_FALSE(policy.deadline_ns().has_value());
  policy.arrived(SIGTERM, is_running, 2 * one_second);
  EXPECT_EQ(policy.arrived(SIGUSR1, is_running, 3 * one_second), Action::ignore) << "it writes one anyway";
}

TEST(SignalPolicy, ATraceIsAskedForOnlyOfARunningJob) {
  SignalPolicy policy(std::chrono::seconds(25));

  EXPECT_EQ(policy.arrived(SIGUSR2, !is_running, one_second), Action::ignore);
  EXPECT_EQ(policy.arrived(SIGUSR2, is_running, one_second), Action::tell);
  EXPECT_FALSE(policy.deadline_ns().has_value());
}

}  // namespace
}  // namespace d9d
