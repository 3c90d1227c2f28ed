// A Trainer that sleeps between two steps.
#include <csignal>

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace test;
using ::testing::HasSubstr;

class StepLoopSleepTest : public TrainerTest {
 protected:
  static constexpr ActorId metrics_id{Role::metric_collector, 0};
  StepLoopSleepTest() {
    options.sleep.file = "asleep/rank-0";
    options.world_size = 2;
    options.sleep.links = {group_id};
  }
  // The sums of a step in which `sleeps` ranks want to sleep.
  void reduced_with(double sleeps) { TrainerTest::reduced_with({.sleeps = sleeps}); }
  void slept_says(ActorId who, std::uint64_t step, std::uint64_t bytes = 0) {
    world.say<wire::Slept>(
        trainer_id,
        [&](wire::Slept::Builder message) {
          message.setStep(step);
          message.setBytes(bytes);
        },
        who);
  }
  void slept(std::uint64_t step) {
    slept_says(executor_id, step, 4096);
    slept_says(metrics_id, step);
    slept_says(group_id, step);
  }
  void awake_says(ActorId who, std::uint64_t step) {
    world.say<wire::Awake>(
        trainer_id, [&](wire::Awake::Builder message) { message.setStep(step); }, who);
  }
  void wake(std::uint64_t step) {
    world.say<wire::Wake>(trainer_id, [&](wire::Wake::Builder message) { message.setStep(step); },
                          {Role::trainer, 1});
  }
  void awake(std::uint64_t step) {
    awake_says(group_id, step);
    awake_says(executor_id, step);
  }
  void fall_asleep_after_step_1() {
    start();
    batch(1);
    batch(2);
    computed(1);
    reduced_with(1);
    applied(1);
  }
  // Of the links, which wake first.
  std::size_t wakes() { return world.heard<wire::Wake>(group_id).size(); }
  std::size_t wakes_of_memory() { return world.heard<wire::Wake>(executor_id).size(); }
};

TEST_F(StepLoopSleepTest, AsksAllRanksAndSleepsBehindTheUpdateOfTheStep) {
  start();
  batch(1);
  signalled(SIGTSTP);
  computed(1);
  EXPECT_EQ(asked_wishes().sleeps, 1);
  reduced_with(2);

  const auto sleep = world.last<wire::Sleep>(executor_id);
  EXPECT_EQ(sleep->getStep(), 1U);
  EXPECT_EQ(std::string(sleep->getFile()), "asleep/rank-0");
  batch(2);
  EXPECT_EQ(begun(), 1U) << "no step begins";
}

TEST_F(StepLoopSleepTest, WakesWithAllRanksAndGoesOn) {
  fall_asleep_after_step_1();
  slept(1);
  world.after(std::chrono::seconds(2000));
  EXPECT_EQ(failure(), "") << "nobody counts the time";
  signalled(SIGTSTP);
  EXPECT_EQ(wakes(), 0U);

  signalled(SIGCONT);
  EXPECT_EQ(world.heard<wire::Wake>(ActorId{Role::trainer, 1}).size(), 1U);
  wake(1);
  EXPECT_EQ(wakes(), 1U);
  wake(1);
  EXPECT_EQ(wakes(), 1U) << "once";
  EXPECT_EQ(begun(), 1U);
  awake(1);

  EXPECT_EQ(begun(), 2U);
  computed(2);
  EXPECT_EQ(asked_wishes().sleeps, 0);
}

// The rank that is called may be the slower one.
TEST_F(StepLoopSleepTest, WakesAsSoonAsItSleepsWhereTheCallCameBefore) {
  start();
  batch(1);
  computed(1);
  wake(1);
  reduced_with(1);
  applied(1);
  EXPECT_EQ(wakes(), 0U);

  slept(1);

  EXPECT_EQ(wakes(), 1U);
}

TEST_F(StepLoopSleepTest, ClosesItsLinksLastAndOpensThemFirst) {
  const ActorId lane = lane_id(0, 1, LaneEnd::sender);
  options.sleep.links = {group_id, lane};
  fall_asleep_after_step_1();
  slept_says(executor_id, 1, 4096);
  EXPECT_TRUE(world.heard<wire::Sleep>(group_id).empty()) << "metrics are being reduced";
  slept_says(metrics_id, 1);
  EXPECT_EQ(world.heard<wire::Sleep>(group_id).size(), 1U);
  EXPECT_EQ(world.heard<wire::Sleep>(lane).size(), 1U);
  wake(1);
  slept_says(group_id, 1);
  EXPECT_TRUE(world.heard<wire::Wake>(lane).empty()) << "one still closes";
  slept_says(lane, 1);
  EXPECT_EQ(world.heard<wire::Wake>(lane).size(), 1U);
  EXPECT_EQ(world.heard<wire::Wake>(group_id).size(), 1U);
  awake_says(lane, 1);
  EXPECT_EQ(wakes_of_memory(), 0U);
  awake_says(group_id, 1);
  EXPECT_EQ(wakes_of_memory(), 1U);
  EXPECT_EQ(begun(), 1U);
  awake_says(executor_id, 1);

  EXPECT_EQ(begun(), 2U);
}

TEST_F(StepLoopSleepTest, WaitsWithACheckpointUntilTheMemoryIsThere) {
  due = {1, 2};
  start();
  step(1);
  batch(2);
  computed(2);
  reduced_with(1);
  applied(2);
  slept(2);
  metric_state(1);
  committed(1);
  EXPECT_EQ(snapshots(), 1U) << "of step 2 there is nothing to copy now";

  wake(2);
  awake(2);

  EXPECT_EQ(snapshots(), 2U);
}

TEST_F(StepLoopSleepTest, IsNotTakenUpBehindTheLastStep) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced_with(1);
  applied(1);

  EXPECT_TRUE(world.heard<wire::Sleep>(executor_id).empty());
  EXPECT_TRUE(finished());
}

TEST_F(StepLoopSleepTest, IsTold) {
  wanted = {"train.sleep.pre", "train.sleep.post", "train.wake.pre", "train.wake.post"};
  fall_asleep_after_step_1();
  slept(1);
  wake(1);
  awake(1);

  EXPECT_EQ(events(), wanted);
}

}  // namespace
}  // namespace d9d
