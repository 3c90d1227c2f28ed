// A Trainer that sleeps between two steps.
#include <csignal>

#include "messages/lists.hpp"
#include "tests/actors/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class TrainerSleepTest : public TrainerTest {
 protected:
  TrainerSleepTest() {
    options.sleep_file = "asleep/rank-0";
    options.world_size = 2;
  }
  void signal(int number) {
    world.say<wire::Signalled>(trainer_id, [&](wire::Signalled::Builder message) {
      message.setSignal(static_cast<std::uint32_t>(number));
    });
  }
  // The sums of a step in which `sleeps` ranks want to sleep.
  void reduced_with(double sleeps) {
    world.say<wire::ValuesReduced>(
        trainer_id,
        [&](wire::ValuesReduced::Builder message) {
          fill_list(message.initValues(10), std::vector<double>{24, 8, 64, 128, 0, 0, 0, sleeps, 0, 0});
        },
        group_id);
  }
  void slept(std::uint64_t step) {
    world.say<wire::Slept>(
        trainer_id, [&](wire::Slept::Builder message) { message.setStep(step); }, executor_id);
  }
  void wake(std::uint64_t step) {
    world.say<wire::Wake>(trainer_id, [&](wire::Wake::Builder message) { message.setStep(step); },
                          {Role::trainer, 1});
  }
  void awake(std::uint64_t step) {
    world.say<wire::Awake>(
        trainer_id, [&](wire::Awake::Builder message) { message.setStep(step); }, executor_id);
  }
  void fall_asleep_after_step_1() {
    start();
    batch(1);
    batch(2);
    computed(1);
    reduced_with(1);
    applied(1);
  }
  std::size_t wakes() { return world.heard<wire::Wake>(executor_id).size(); }
};

TEST_F(TrainerSleepTest, AsksAllRanksAndSleepsBehindTheUpdateOfTheStep) {
  start();
  batch(1);
  signal(SIGTSTP);
  computed(1);
  EXPECT_EQ(to_vector<double>(world.last<wire::ReduceValues>(group_id)->getValues())[7], 1);
  reduced_with(2);

  const auto sleep = world.last<wire::Sleep>(executor_id);
  EXPECT_EQ(sleep->getStep(), 1U);
  EXPECT_EQ(std::string(sleep->getFile()), "asleep/rank-0");
  batch(2);
  EXPECT_EQ(begun(), 1U) << "no step begins";
}

TEST_F(TrainerSleepTest, WakesWithAllRanksAndGoesOn) {
  fall_asleep_after_step_1();
  slept(1);
  world.after(std::chrono::seconds(2000));
  EXPECT_EQ(failure(), "") << "nobody counts the time";
  signal(SIGTSTP);
  EXPECT_EQ(wakes(), 0U);

  signal(SIGCONT);
  EXPECT_EQ(world.heard<wire::Wake>(ActorId{Role::trainer, 1}).size(), 1U);
  wake(1);
  EXPECT_EQ(wakes(), 1U);
  wake(1);
  EXPECT_EQ(wakes(), 1U) << "once";
  EXPECT_EQ(begun(), 1U);
  awake(1);

  EXPECT_EQ(begun(), 2U);
  computed(2);
  EXPECT_EQ(to_vector<double>(world.last<wire::ReduceValues>(group_id)->getValues())[7], 0);
}

// The rank that is called may be the slower one.
TEST_F(TrainerSleepTest, WakesAsSoonAsItSleepsWhereTheCallCameBefore) {
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

TEST_F(TrainerSleepTest, WaitsWithACheckpointUntilTheMemoryIsThere) {
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

TEST_F(TrainerSleepTest, IsNotTakenUpBehindTheLastStep) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced_with(1);
  applied(1);

  EXPECT_TRUE(world.heard<wire::Sleep>(executor_id).empty());
  EXPECT_TRUE(finished());
}

TEST_F(TrainerSleepTest, IsTold) {
  wanted = {"train.sleep.pre", "train.sleep.post", "train.wake.pre", "train.wake.post"};
  fall_asleep_after_step_1();
  slept(1);
  wake(1);
  awake(1);

  EXPECT_EQ(events(), wanted);
}

}  // namespace
}  // namespace d9d
