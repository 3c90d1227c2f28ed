// What a signal leaves out is in the checkpoint, and the next start makes it before its first step.
#include <csignal>

#include "tests/actors/loop/trainer_evaluation_fixture.hpp"

namespace d9d {
namespace {

using namespace test;
using ::testing::HasSubstr;

class OwedEvaluationTest : public TrainerEvaluationTest {
 protected:
  OwedEvaluationTest() { due = {}; }
  void stop_in_step_2() {
    batch(2);
    computed(2);
    reduced_with({.terminates = 1});
    applied(2);
    batch(3);
  }
  // All ranks agree on the signal with the sums of an evaluation's first batch.
  void cut_after_two_batches() {
    evaluation_batch(1);
    evaluated(1);
    evaluation_batch(2);
    reduced_with({.terminates = 1});
    evaluated(2);
    reduced_with({.terminates = 1});
  }
  std::string state() { return world.last<wire::CheckpointState>(coordinator_id)->getState().cStr(); }
  void start_that_owes() {
    options.before.step = 2;
    training.owed.evaluation = true;
    start(3);
  }
  std::size_t amendments() {
    std::size_t count = 0;
    for (const auto& each : world.heard<wire::CheckpointState>(coordinator_id))
      count += each->getAmends() ? 1 : 0;
    return count;
  }
};

TEST_F(OwedEvaluationTest, OfASignalBeforeItIsKeptInTheCheckpoint) {
  start();
  step(1);
  signalled(SIGTERM);
  stop_in_step_2();
  ASSERT_EQ(snapshots(), 1U);
  metric_state(2);

  EXPECT_THAT(state(), ::testing::HasSubstr(R"("owed":{"evaluation":true})"));
  EXPECT_THAT(state(), ::testing::Not(::testing::HasSubstr("evaluation_loss")));
}

TEST_F(OwedEvaluationTest, OfASignalWithinItIsKeptInTheCheckpoint) {
  training.evaluation->batches = 9;
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  cut_after_two_batches();
  batch(3);
  evaluation_batch(3);
  ASSERT_EQ(snapshots(), 1U);
  metric_state(2);

  EXPECT_THAT(state(), ::testing::HasSubstr(R"("owed":{"evaluation":true})"));
}

TEST_F(OwedEvaluationTest, OfAStepThatHasNoneIsNotKept) {
  start();
  signalled(SIGTERM);
  batch(1);
  computed(1);
  reduced_with({.terminates = 1});
  applied(1);
  metric_state(1);

  EXPECT_THAT(state(), ::testing::Not(::testing::HasSubstr("owed")));
}

TEST_F(OwedEvaluationTest, IsMadeBeforeTheFirstStepAndAddedToTheCheckpoint) {
  start_that_owes();
  EXPECT_TRUE(world.heard<wire::LoadBatches>(loader_id).empty());
  evaluate();

  EXPECT_EQ(world.last<wire::EvaluationFinished>()->getStep(), 2U);
  EXPECT_EQ(amendments(), 1U);
  EXPECT_EQ(world.last<wire::CheckpointState>()->getStep(), 2U);
  EXPECT_EQ(state(), R"({"evaluation_loss":3.0,"owed":{"evaluation":null}})");
  EXPECT_EQ(snapshots(), 0U) << "the checkpoint is there";
  step(3);
  EXPECT_TRUE(finished());
  EXPECT_EQ(world.heard<wire::EvaluationFinished>().size(), 1U);
}

TEST_F(OwedEvaluationTest, MayEndTheJobAsItsStepWouldHave) {
  training.evaluation->stopping.emplace(EarlyStoppingOptions{.stop_after = 1});
  training.evaluation->stopping->add(1, 2.0);
  start_that_owes();
  evaluate();
  EXPECT_EQ(ends_told(), 1);
  agreed(1);

  EXPECT_TRUE(finished());
  EXPECT_EQ(world.last<wire::RankFinished>()->getStep(), 2U);
  EXPECT_THAT(state(),
              ::testing::AllOf(::testing::HasSubstr(R"("ended":"evaluation.stop_after: 1 evaluation)"),
                               ::testing::HasSubstr(R"("worse":1)")));
  EXPECT_EQ(snapshots(), 0U);
}

TEST_F(OwedEvaluationTest, StaysOwedWhenASignalEndsThatStartToo) {
  training.evaluation->batches = 9;
  start_that_owes();
  signalled(SIGTERM);
  cut_after_two_batches();
  for (const std::uint64_t loaded_ahead : {3, 4}) evaluation_batch(loaded_ahead);

  EXPECT_TRUE(finished());
  EXPECT_EQ(world.last<wire::RankFinished>()->getSignal(), static_cast<unsigned>(SIGTERM));
  EXPECT_EQ(amendments(), 0U);
  EXPECT_EQ(snapshots(), 0U);
}

TEST_F(OwedEvaluationTest, IsMadeAlsoWhereNoStepIsLeft) {
  options.total_steps = 2;
  start_that_owes();
  EXPECT_FALSE(finished());
  evaluate();

  EXPECT_TRUE(finished());
  EXPECT_EQ(amendments(), 1U);
}

// The keys of now say when a job evaluates.
TEST_F(OwedEvaluationTest, IsNotMadeWhereItIsNoLongerDue) {
  training.evaluation->due = [](std::uint64_t step) { return step == 3; };
  start_that_owes();

  EXPECT_EQ(world.last<wire::LoadBatches>(loader_id)->getStep(), 3U);
  EXPECT_EQ(amendments(), 0U);
}

class OwedTextsTest : public TrainerTest {
 protected:
  OwedTextsTest() { options.prefetch_steps = 0; }
};

TEST_F(OwedTextsTest, TextsThatASignalLeavesOutAreKeptInTheCheckpoint) {
  options.users.actor_names = {"guard"};
  start();
  step(1);
  ask_for_texts();
  signalled(SIGTERM);
  batch(2);
  computed(2);
  reduced_with({.terminates = 1, .texts = 1});
  applied(2);
  EXPECT_TRUE(world.heard<wire::GenerateTexts>(executor_id).empty());
  metric_state(2);

  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              ::testing::AllOf(HasSubstr(R"("actor":"guard")"), HasSubstr(R"("due":true)"),
                               HasSubstr(R"("prompts":[[5,9]])")));
}

TEST_F(OwedTextsTest, TextsThatTheRunBeforeOwesAreMadeBeforeTheFirstStep) {
  options.before.step = 2;
  training.owed.texts = {{.number = 0, .asker = guard_id, .request = {.prompts = {{5, 9}}, .options = {}}}};
  training.owed.texts_due = 1;
  start(3);

  const auto made = world.last<wire::GenerateTexts>(executor_id);
  EXPECT_EQ(made->getStep(), 2U);
  EXPECT_EQ(made->getAsker(), guard_id.packed());
  world.say<wire::StepComputed>(
      trainer_id,
      [](wire::StepComputed::Builder message) {
        message.setStep(2);
        fill_pass(message.initPass(), {PassKind::TEXTS, 1});
      },
      executor_id);
  EXPECT_EQ(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
            R"({"owed":{"texts":null}})");
  EXPECT_EQ(world.last<wire::LoadBatches>(loader_id)->getStep(), 3U);
}

}  // namespace
}  // namespace d9d
