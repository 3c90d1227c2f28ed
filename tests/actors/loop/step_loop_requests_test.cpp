// Signals in training: what a rank was asked for goes into the sums of its step, and all ranks obey the sums.
#include <csignal>

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace test;
using ::testing::ElementsAre;

class StepLoopSignalTest : public TrainerTest {
 protected:
  StepLoopSignalTest() {
    options.total_steps = 100;
    options.prefetch_steps = 0;
  }
  // Loss, weight, norm and tokens, then the sums of all ranks' wishes: SIGTERM, SIGINT, SIGUSR1.
  void reduced_with(double terminate, double interrupt, double save) {
    TrainerTest::reduced_with({.terminates = terminate, .interrupts = interrupt, .saves = save});
  }
  void step_with(std::uint64_t number, double terminate, double interrupt, double save) {
    batch(number);
    computed(number);
    reduced_with(terminate, interrupt, save);
    applied(number);
  }
  std::vector<double> wishes_told() {
    const RankWishes wishes = asked_wishes();
    return {wishes.terminates, wishes.interrupts, wishes.saves};
  }
};

TEST_F(StepLoopSignalTest, ASignalInTheMiddleOfAStepIsToldWithTheSumsOfThatStep) {
  start();
  batch(1);
  signalled(SIGTERM);
  computed(1);

  EXPECT_THAT(wishes_told(), ElementsAre(1, 0, 0));
}

TEST_F(StepLoopSignalTest, TheStepAtWhichTheSumsSayStopIsTheLastOneAndIsSaved) {
  start();
  step(1);
  batch(2);
  batch(3);
  computed(2);
  reduced_with(1, 0, 0);
  applied(2);

  EXPECT_EQ(begun(), 2U) << "the batch of step 3 is not begun";
  EXPECT_EQ(world.last<wire::Snapshot>(executor_id)->getStep(), 2U);
  EXPECT_FALSE(finished()) << "not before the commit";
  metric_state(2);
  committed(2);

  ASSERT_TRUE(finished());
  EXPECT_EQ(finalized, 1);
  EXPECT_EQ(world.last<wire::RankFinished>()->getStep(), 2U);
  EXPECT_EQ(world.last<wire::RankFinished>()->getSignal(), static_cast<std::uint32_t>(SIGTERM));
  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "train.stopped");
}

TEST_F(StepLoopSignalTest, ARankWithoutASignalStopsWithTheOthers) {
  start();
  step_with(1, 0, 2, 0);
  committed(1);

  ASSERT_TRUE(finished());
  EXPECT_EQ(world.last<wire::RankFinished>()->getSignal(), static_cast<std::uint32_t>(SIGINT));
}

TEST_F(StepLoopSignalTest, ARankWithASignalGoesOnUntilTheSumsSaySo) {
  start();
  batch(1);
  computed(1);
  signalled(SIGTERM);
  reduced_with(0, 0, 0);
  batch(2);

  EXPECT_EQ(begun(), 2U);
  EXPECT_FALSE(finished());
  computed(2);
  EXPECT_THAT(wishes_told(), ElementsAre(1, 0, 0));
}

TEST_F(StepLoopSignalTest, ACheckpointThatIsDueAnywayIsNotWrittenTwice) {
  due = {1};
  start();
  step_with(1, 1, 0, 0);
  committed(1);

  EXPECT_EQ(snapshots(), 1U);
  EXPECT_TRUE(finished());
}

TEST_F(StepLoopSignalTest, TheCheckpointInFlightIsCommittedBeforeTheLastOne) {
  due = {1};
  start();
  step(1);
  step_with(2, 1, 0, 0);
  EXPECT_EQ(snapshots(), 1U);

  committed(1);
  EXPECT_EQ(world.last<wire::Snapshot>(executor_id)->getStep(), 2U);
  EXPECT_FALSE(finished());
  committed(2);

  EXPECT_TRUE(finished());
}

TEST_F(StepLoopSignalTest, WithoutCheckpointingItStopsWithoutOne) {
  options.saves.on = false;
  start();
  step_with(1, 1, 0, 0);

  EXPECT_EQ(snapshots(), 0U);
  EXPECT_TRUE(finished());
}

TEST_F(StepLoopSignalTest, SigusrWritesOneCheckpointAndTrainingGoesOn) {
  start();
  signalled(SIGUSR1);
  batch(1);
  computed(1);
  EXPECT_THAT(wishes_told(), ElementsAre(0, 0, 1));
  reduced_with(0, 0, 1);
  batch(2);
  computed(2);

  EXPECT_EQ(snapshots(), 1U);
  EXPECT_EQ(begun(), 2U);
  EXPECT_THAT(wishes_told(), ElementsAre(0, 0, 0)) << "asked for once";
  EXPECT_FALSE(finished());
}

TEST_F(StepLoopSignalTest, ABatchThatTheTaskIsBeingAskedForArrivesBeforeTheTaskIsFinalized) {
  options.prefetch_steps = 1;
  start();
  step_with(1, 1, 0, 0);
  committed(1);
  EXPECT_FALSE(finished());
  EXPECT_EQ(finalized, 0);

  batch(2);

  EXPECT_TRUE(finished());
  EXPECT_EQ(finalized, 1);
  EXPECT_EQ(begun(), 1U);
}

TEST_F(StepLoopSignalTest, DataThatEndsBehindTheStepOfTheSignalIsNoFailure) {
  options.prefetch_steps = 1;
  start();
  step_with(1, 1, 0, 0);
  committed(1);

  world.say<wire::DataEnded>(
      trainer_id, [](wire::DataEnded::Builder ended) { ended.setStep(2); }, loader_id);

  EXPECT_TRUE(finished());
  EXPECT_EQ(failure(), "");
}

TEST_F(StepLoopSignalTest, TheLastStepOfTheJobStopsWithTheSignalToo) {
  options.total_steps = 1;
  start();
  step_with(1, 1, 0, 0);
  committed(1);

  EXPECT_EQ(world.last<wire::RankFinished>()->getSignal(), static_cast<std::uint32_t>(SIGTERM));
}

}  // namespace
}  // namespace d9d
