// Checkpoints beside training: at most one is being written, and a rank ends only when its last is committed.
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;
using namespace test;

TEST_F(TrainerTest, ADueCheckpointIsASnapshotAfterTheStepAndTrainingGoesOn) {
  due = {1};
  start();
  step(1);
  batch(2);

  const auto snapshot = world.last<wire::Snapshot>(executor_id);
  EXPECT_EQ(snapshot->getStep(), 1U);
  EXPECT_EQ(std::string(snapshot->getDirectory()), "tmp-1");
  EXPECT_EQ(begun(), 2U);
}

TEST_F(TrainerTest, TheSnapshotIsToldAfterApplyAndBeforeTheNextStep) {
  due = {1};
  start();
  step(1);
  batch(2);

  std::vector<std::uint64_t> types;
  for (const auto& told : world.told()) {
    if (told.header.receiver == executor_id) types.push_back(told.type);
  }
  EXPECT_EQ(types,
            (std::vector<std::uint64_t>{capnp::typeId<wire::BeginStep>(), capnp::typeId<wire::ApplyStep>(),
                                        capnp::typeId<wire::Snapshot>(), capnp::typeId<wire::BeginStep>()}));
}

TEST_F(TrainerTest, TheCursorOfItsStepAndTheStatesGoToTheCoordinatorEvenWhenTheNextStepRuns) {
  due = {1};
  start();
  step(1);
  batch(2);
  metric_state(1);

  const auto state = world.last<wire::CheckpointState>(coordinator_id);
  EXPECT_EQ(state->getStep(), 1U);
  EXPECT_EQ(state->getNextSample(), 8U);
  EXPECT_EQ(std::string(state->getState()),
            R"({"metrics":{"m":[1]},"task":{"seen":1},"tokens_total":128,"skipped_steps":0})");
}

TEST_F(TrainerTest, TheStateOfAStreamIsThatOfItsStepEvenWhenTheNextStepRuns) {
  due = {1};
  has_stream = true;
  start();
  step(1);
  batch(2);
  metric_state(1);

  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              HasSubstr(R"(,"stream":{"replica":0,"state":1})"));
}

TEST_F(TrainerTest, TheTokensOfItsStepGoIntoTheCheckpointEvenWhenTheNextStepIsDone) {
  due = {1};
  options.before.tokens = 1000;
  start();
  step(1);
  step(2);
  metric_state(1);

  const std::string state = world.last<wire::CheckpointState>(coordinator_id)->getState();
  EXPECT_NE(state.find(R"("tokens_total":1128,)"), std::string::npos) << state;
  EXPECT_EQ(world.last<wire::StepFinished>()->getTokensTotal(), 1256U);
}

TEST_F(TrainerTest, ASecondDueCheckpointWaitsForTheCommitOfTheFirst) {
  due = {1, 2};
  start();
  step(1);
  step(2);
  batch(3);
  EXPECT_EQ(snapshots(), 1U);
  EXPECT_EQ(begun(), 2U) << "the parameters of step 2 must stay until they are copied";

  committed(1);

  EXPECT_EQ(snapshots(), 2U);
  EXPECT_EQ(world.last<wire::Snapshot>()->getStep(), 2U);
  EXPECT_EQ(begun(), 3U);
}

TEST_F(TrainerTest, TheLastStepFinishesOnlyAfterItsCommit) {
  due = {3};
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);
  metric_state(3);
  EXPECT_FALSE(finished());

  committed(3);

  EXPECT_TRUE(finished());
  EXPECT_EQ(world.heard<wire::RankFinished>().size(), 1U);
}

TEST_F(TrainerTest, AFailedCheckpointDoesNotKeepARankFromFinishing) {
  due = {3};
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);

  world.say<wire::CheckpointCommitted>(trainer_id, [](wire::CheckpointCommitted::Builder message) {
    message.setStep(3);
    message.setFailure("no space left");
  });

  EXPECT_TRUE(finished());
}

TEST_F(TrainerTest, TheCommitOfAnotherStepChangesNothing) {
  due = {2, 3};
  start();
  step(1);
  step(2);
  committed(1);
  step(3);

  EXPECT_EQ(snapshots(), 1U);
}

TEST_F(TrainerTest, ACheckpointThatIsNotCommittedInTimeEndsTheJobAndNamesDeadlineAndFolder) {
  due = {3};
  options.saves.commit_timeout = std::chrono::minutes(20);
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);
  world.after(std::chrono::minutes(19));
  EXPECT_EQ(failure(), "");

  world.after(std::chrono::minutes(1));

  EXPECT_THAT(failure(), HasSubstr("the checkpoint of step 3 was not committed within 1200 s "
                                   "(trainer.timeout.checkpoint_timeout): tmp-3 is still being written"));
}

TEST_F(TrainerTest, TheDeadlineOfACommittedCheckpointRingsInVain) {
  due = {1, 3};
  options.saves.commit_timeout = std::chrono::minutes(20);
  start();
  step(1);
  committed(1);
  for (const std::uint64_t number : {2, 3}) step(number);
  world.after(std::chrono::minutes(15));
  committed(3);

  world.after(std::chrono::hours(1));

  EXPECT_EQ(failure(), "");
}

TEST_F(TrainerTest, WaitingForACommitIsNoStepThatHangs) {
  due = {1, 2};
  start();
  step(1);
  step(2);
  batch(3);

  world.after(std::chrono::minutes(59));

  EXPECT_EQ(failure(), "");
}

TEST_F(TrainerTest, AStepThatHangsWhileACheckpointIsWrittenIsStillFound) {
  due = {1};
  start();
  step(1);
  batch(2);
  world.after(std::chrono::seconds(150));
  EXPECT_EQ(failure(), "") << "a slow disk is no hanging step";
  committed(1);

  world.after(std::chrono::seconds(100));

  EXPECT_THAT(failure(), HasSubstr("did not finish step 2 in time"));
}

}  // namespace
}  // namespace d9d
