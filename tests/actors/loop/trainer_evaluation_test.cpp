// The Trainer between two steps: an evaluation, then the checkpoint, then the next step.
#include <csignal>

#include "tests/actors/loop/trainer_evaluation_fixture.hpp"

namespace d9d {
namespace {

using namespace test;

TEST_F(TrainerEvaluationTest, ComesBetweenTheStepAndTheNextOne) {
  start();
  step(1);
  EXPECT_TRUE(world.heard<wire::LoadBatches>(evaluation_loader_id).empty());
  batch(2);
  batch(3);
  computed(2);
  reduced();
  EXPECT_EQ(begun(), 2U) << "its batch is not there yet";
  evaluation_batch(1);

  const auto begin = world.last<wire::BeginStep>(executor_id);
  EXPECT_EQ(begin->getStep(), 2U);
  EXPECT_EQ(pass_of(begin->getPass()), (Pass{PassKind::EVALUATE, 1}));
  EXPECT_EQ(begin->getMicrobatches()[0], (Ticket{101, 5}.packed()));
  applied(2);
  evaluated(1);
  reduced(10, 5);
  evaluation_batch(2);
  evaluated(2);
  EXPECT_TRUE(world.heard<wire::EvaluationFinished>().empty());
  reduced(20, 5);

  const auto result = world.last<wire::EvaluationFinished>(ActorId{Role::tracker, 0});
  EXPECT_EQ(result->getStep(), 2U);
  EXPECT_DOUBLE_EQ(result->getLoss(), 3.0);
  EXPECT_EQ(result->getTokens(), 256U);
  EXPECT_TRUE(world.last<wire::CollectMetrics>(executor_id)->getEvaluation());
  EXPECT_EQ(world.last<wire::BeginStep>(executor_id)->getStep(), 2U)
      << "whoever hears of it gets the metrics, too";
  values_come();
  EXPECT_EQ(world.last<wire::BeginStep>(executor_id)->getStep(), 3U);
  EXPECT_EQ(pass_of(world.last<wire::BeginStep>(executor_id)->getPass()), Pass{});
}

TEST_F(TrainerEvaluationTest, ReducesWhatThisRankComputed) {
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  evaluation_batch(1);
  evaluated(1);

  EXPECT_EQ(to_values(asked_totals()), to_values({.loss_sum = 3, .weight_sum = 2, .tokens = 32}));
}

TEST_F(TrainerEvaluationTest, TheCheckpointOfTheStepWaitsForIt) {
  due = {2};
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  EXPECT_EQ(snapshots(), 0U);

  evaluate();

  EXPECT_EQ(snapshots(), 1U);
  EXPECT_EQ(world.last<wire::Snapshot>()->getStep(), 2U);
  metric_state(2);
  EXPECT_THAT(std::string(world.last<wire::CheckpointState>()->getState()),
              ::testing::HasSubstr(R"("evaluation_loss":3)"));
}

TEST_F(TrainerEvaluationTest, ItsEventsAreTold) {
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  evaluate();

  const auto names = events();
  const auto pre = std::find(names.begin(), names.end(), "train.evaluation.pre");
  ASSERT_NE(pre, names.end());
  EXPECT_EQ(*std::prev(pre), "train.step.post");
  EXPECT_EQ(*std::next(pre), "train.evaluation.post");
}

TEST_F(TrainerEvaluationTest, ItsEventHasLossAndMetrics) {
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  evaluate();

  EXPECT_EQ(context_of_evaluation(), R"({"loss":3.0,"metrics":{"accuracy":0.5}})");
}

TEST_F(TrainerEvaluationTest, WhereNobodyHearsOfItTheNextStepDoesNotWaitForMetrics) {
  wanted = {};
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  batch(3);
  for (const std::uint32_t number : {1, 2}) {
    evaluation_batch(number);
    evaluated(number);
    reduced(10 * number, 5);
  }

  EXPECT_EQ(world.last<wire::BeginStep>(executor_id)->getStep(), 3U);
}

TEST_F(TrainerEvaluationTest, OneTooManyThatIsNoBetterEndsTheJobWell) {
  training.evaluation->due = [](std::uint64_t) { return true; };
  training.evaluation->stopping.emplace(EarlyStoppingOptions{.stop_after = 1});
  due = {};
  start();
  step(1);
  evaluate();
  EXPECT_EQ(ends_told(), 0) << "the first one is the best one";
  agreed(0);
  step(2);
  evaluate();
  EXPECT_EQ(ends_told(), 1) << "as good is no better";
  EXPECT_EQ(snapshots(), 0U) << "all ranks have to agree";
  agreed(1);

  EXPECT_EQ(snapshots(), 1U);
  metric_state(2);
  const std::string state = world.last<wire::CheckpointState>()->getState().cStr();
  EXPECT_THAT(state, ::testing::HasSubstr(
                         R"("ended":"evaluation.stop_after: 1 evaluation without a better loss than 3)"));
  EXPECT_THAT(state, ::testing::HasSubstr(R"("early_stopping":{"best":3.0,"best_step":1,"worse":1})"));
  committed(2);
  batch(3);
  EXPECT_TRUE(finished());
  EXPECT_THAT(world.last<wire::RankFinished>()->getEnded().cStr(), ::testing::HasSubstr("stop_after"));
  EXPECT_EQ(world.last<wire::RankFinished>()->getStep(), 2U);
  EXPECT_EQ(world.last<wire::RankFinished>()->getSignal(), 0U);
}

TEST_F(TrainerEvaluationTest, AMetricOfTheTaskMayDecide) {
  training.evaluation->due = [](std::uint64_t) { return true; };
  training.evaluation->metric = "accuracy";
  training.evaluation->higher_is_better = true;
  training.evaluation->stopping.emplace(EarlyStoppingOptions{.stop_after = 1, .higher_is_better = true});
  due = {1};
  start();
  step(1);
  evaluate();
  agreed(0);
  metric_state(1);

  EXPECT_THAT(
      std::string(world.last<wire::CheckpointState>()->getState()),
      ::testing::HasSubstr(R"("evaluation_metric":{"higher_is_better":true,"name":"accuracy","value":0.5})"));
}

TEST_F(TrainerEvaluationTest, AMetricThatTheTaskDoesNotHaveIsNamed) {
  training.evaluation->metric = "f1";
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  evaluate();

  EXPECT_THAT(failure(),
              ::testing::HasSubstr("evaluation.metric: the evaluation has no \"f1\"; it has loss, accuracy"));
}

TEST_F(TrainerEvaluationTest, EndsTheJobWhenItFollowsTheLastStep) {
  options.total_steps = 2;
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  EXPECT_FALSE(finished());

  evaluate();

  EXPECT_TRUE(finished());
}

TEST_F(TrainerEvaluationTest, IsLeftOutWhenASignalEndsTheJob) {
  options.saves.on = false;
  start();
  step(1);
  signalled(SIGTERM);
  batch(2);
  computed(2);
  reduced_with({.terminates = 1});
  applied(2);
  batch(3);

  EXPECT_TRUE(finished());
  EXPECT_TRUE(world.heard<wire::LoadBatches>(evaluation_loader_id).empty());
}

TEST_F(TrainerEvaluationTest, HasTheTimeOfAStepForEachBatch) {
  start();
  for (const std::uint64_t number : {1, 2}) step(number);
  for (const std::uint32_t number : {1, 2}) {
    world.after(std::chrono::seconds(90));
    EXPECT_EQ(failure(), "");
    evaluation_batch(number);
    evaluated(number);
    if (number == 1) reduced(10, 5);
  }
  world.after(std::chrono::seconds(250));

  EXPECT_THAT(failure(), ::testing::HasSubstr("rank 0 did not finish step 2 in time: it is evaluating"));
}

}  // namespace
}  // namespace d9d
