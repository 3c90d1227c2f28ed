// The step of one rank as a state machine.
#include "messages/lists.hpp"
#include "messages/trace.capnp.h"
#include "tests/actors/trainer_fixture.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

TEST_F(TrainerTest, AStepBeginsOnlyWithItsBatch) {
  start();
  EXPECT_EQ(begun(), 0U);

  batch(1);

  const auto begin = world.last<wire::BeginStep>(executor_id);
  EXPECT_EQ(begin->getStep(), 1U);
  ASSERT_EQ(begin->getMicrobatches().size(), 2U);
  EXPECT_EQ(begin->getMicrobatches()[1], (Ticket{11, 5}.packed()));
}

TEST_F(TrainerTest, ABatchBeforeTheStartWaits) {
  world.play<Trainer>(trainer_id, options);
  batch(1);
  EXPECT_EQ(begun(), 0U);

  world.say<wire::StartTraining>(trainer_id, [](wire::StartTraining::Builder s) { s.setFirstStep(1); });
  batch(2);

  EXPECT_EQ(begun(), 1U);
}

TEST_F(TrainerTest, TheNextBatchWaitsUntilTheStepIsApplied) {
  start();
  batch(1);
  batch(2);
  computed(1);
  EXPECT_EQ(begun(), 1U);

  reduced();

  EXPECT_EQ(begun(), 2U);
}

TEST_F(TrainerTest, WithoutPrefetchABatchIsAskedForWhenItsStepIsNext) {
  options.prefetch_steps = 0;
  start();
  EXPECT_EQ(asked_for(), (Steps{1}));
  batch(1);
  computed(1);
  EXPECT_EQ(asked_for(), (Steps{1}));

  reduced();

  EXPECT_EQ(asked_for(), (Steps{1, 2}));
}

TEST_F(TrainerTest, AsManyStepsAreAskedForAheadAsThePrefetchSaysAndNoneBeyondTheLast) {
  options.prefetch_steps = 2;
  options.total_steps = 4;
  start();
  batch(1);
  EXPECT_EQ(asked_for(), (Steps{1, 2, 3}));

  computed(1);
  reduced();
  EXPECT_EQ(asked_for(), (Steps{1, 2, 3, 4}));
  applied(1);
  for (const std::uint64_t number : {2, 3, 4}) step(number);

  EXPECT_EQ(asked_for(), (Steps{1, 2, 3, 4}));
  EXPECT_TRUE(finished());
}

TEST_F(TrainerTest, SumsOfThisRankAreReducedOverAllRanksBeforeTheyCount) {
  start();
  batch(1);
  computed(1);

  const auto asked = world.last<wire::ReduceValues>(group_id);
  EXPECT_EQ(asked->getOrder(), 0U);
  EXPECT_EQ(asked->getOperation(), wire::ReduceValues::Operation::SUM);
  EXPECT_EQ(to_values(asked_totals()),
            to_values({.loss_sum = 12, .weight_sum = 4, .norm_share = 16, .tokens = 64, .flops = 5e9}));
  EXPECT_TRUE(world.heard<wire::ApplyStep>().empty());
}

TEST_F(TrainerTest, ARankWhoseSamplesAnotherRankCountsAddsNoTokens) {
  options.counts_tokens = false;
  start();
  batch(1);
  computed(1);

  EXPECT_EQ(world.last<wire::ReduceValues>()->getValues()[3], 0);
}

TEST_F(TrainerTest, GradientsAreScaledByOneOverTheGlobalWeight) {
  start();
  batch(1);
  computed(1);
  reduced(24, 8, 64);

  const auto apply = world.last<wire::ApplyStep>(executor_id);
  EXPECT_EQ(apply->getStep(), 1U);
  EXPECT_DOUBLE_EQ(apply->getGradientScale(), 1.0 / 8);
  EXPECT_DOUBLE_EQ(apply->getLrMultiplier(), 0.1);
}

// Schedule auto: what ranks measured is summed with the step's own numbers and goes back to the stages.
TEST_F(TrainerTest, CostsTravelWithTheReductionOfTheStep) {
  start();
  batch(1);
  world.say<wire::StepComputed>(
      trainer_id,
      [](wire::StepComputed::Builder message) {
        message.setStep(1);
        fill_list(message.initCosts(2), std::vector<double>{0.5, 0.25});
      },
      executor_id);
  EXPECT_EQ(to_values(asked_totals()), to_values({.tokens = 64, .flops = 5e9, .costs = {0.5, 0.25}}));

  reduced_with({}, {.costs = {1.5, 0.75}});

  EXPECT_THAT(to_vector<double>(world.last<wire::ApplyStep>(executor_id)->getCosts()),
              ElementsAre(1.5, 0.75));
  applied(1);
  batch(2);
  computed(2);
  reduced();
  EXPECT_EQ(world.last<wire::ApplyStep>(executor_id)->getCosts().size(), 0U);
}

TEST_F(TrainerTest, ALargeNormIsClippedAndASmallOneIsNot) {
  options.step_end.clipping.max_norm = 0.5;
  start();
  batch(1);
  computed(1);
  reduced(24, 8, 64);  // norm sqrt(64) / 8 = 1
  EXPECT_NEAR(world.last<wire::ApplyStep>()->getGradientScale(), 0.5 / 8, 1e-7);

  applied(1);
  batch(2);
  computed(2);
  reduced(24, 8, 4);  // norm 0.25

  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>()->getGradientScale(), 1.0 / 8);
}

TEST_F(TrainerTest, Rank0ReportsLossNormRateTokensAndTime) {
  start();
  batch(1);
  world.after(std::chrono::milliseconds(500));
  computed(1);
  reduced(24, 8, 64);

  const auto report = world.last<wire::StepFinished>(ActorId{Role::tracker, 0});
  EXPECT_EQ(report->getStep(), 1U);
  EXPECT_EQ(report->getTotalSteps(), 3U);
  EXPECT_DOUBLE_EQ(report->getLoss(), 3);
  EXPECT_DOUBLE_EQ(report->getGradNorm(), 1);
  EXPECT_DOUBLE_EQ(report->getLearningRate(), 0.2);
  EXPECT_EQ(report->getTokens(), 128U);
  EXPECT_EQ(report->getTokensTotal(), 128U);
  EXPECT_EQ(report->getFlops(), 1e10);
  EXPECT_EQ(report->getNextSample(), 8U);
  EXPECT_FALSE(report->getMetricsFollow());
  EXPECT_DOUBLE_EQ(report->getStepSeconds(), 0.5);
}

TEST_F(TrainerTest, OtherRanksReportNothingAndPublishWhatSomebodyWantsOfThem) {
  options.rank = 1;
  wanted = {};
  start();
  step(1);
  EXPECT_TRUE(world.heard<wire::Publish>().empty());
  listeners({"train.step.post"});
  for (const std::uint64_t number : {2, 3}) step(number);

  EXPECT_TRUE(world.heard<wire::StepFinished>().empty());
  EXPECT_THAT(events(), ElementsAre("train.step.post", "train.step.post"));
  EXPECT_EQ(world.last<wire::Publish>()->getRank(), 1U);
  EXPECT_EQ(world.last<wire::RankFinished>()->getRank(), 1);
}

TEST_F(TrainerTest, MetricsAreCollectedWhenDue) {
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);

  const auto collected = world.heard<wire::CollectMetrics>(executor_id);
  ASSERT_EQ(collected.size(), 1U);
  EXPECT_EQ(collected[0]->getStep(), 2U);
}

TEST_F(TrainerTest, ATraceWindowIsFlushedOnEveryNodeAfterItsLastStep) {
  options.trace_window = {.period = 2, .active = 1};
  options.num_nodes = 2;
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);

  const auto flushes = world.heard<wire::FlushTrace>();
  ASSERT_EQ(flushes.size(), 2U);
  EXPECT_EQ(flushes[1].to(), (ActorId{Role::trace_collector, 1}));
  EXPECT_EQ(std::string(flushes[1]->getLabel()), "step_2");
  EXPECT_EQ(flushes[1]->getFromStep(), 2);
}

TEST_F(TrainerTest, TheEventsOfAStepComeInTheOrderOfItsLife) {
  start();
  step(1);

  EXPECT_THAT(events(), ElementsAre("train.ready", "train.step.pre", "train.forward_backward.pre",
                                    "train.forward_backward.post", "train.optimizer_step.pre",
                                    "train.optimizer_step.post", "train.step.post"));
}

TEST_F(TrainerTest, TheEventsAfterTheOptimizerWaitUntilItRanAndKeepTheirOrderAndContents) {
  start();
  batch(1);
  computed(1);
  reduced(24, 8, 64);
  batch(2);
  EXPECT_EQ(begun(), 2U) << "the next step does not wait";
  EXPECT_EQ(events().back(), "train.optimizer_step.pre");

  applied(1);

  const auto all = world.heard<wire::Publish>();
  ASSERT_EQ(all.size(), 9U);
  EXPECT_EQ(std::string(all[5]->getName()), "train.optimizer_step.post");
  EXPECT_EQ(std::string(all[6]->getName()), "train.step.post");
  EXPECT_EQ(all[6]->getStep(), 1U);
  EXPECT_EQ(std::string(all[6]->getContext()), R"({"loss":3,"grad_norm":1})");
  EXPECT_EQ(std::string(all[7]->getName()), "train.step.pre");
  EXPECT_EQ(all[7]->getStep(), 2U);
}

TEST_F(TrainerTest, TheLastStepIsOverWhenItsOptimizerRan) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced();
  EXPECT_FALSE(finished());

  applied(1);

  EXPECT_TRUE(finished());
  EXPECT_EQ(events().back(), "train.finished");
}

TEST_F(TrainerTest, ALastUpdateThatHangsIsFoundByTheDeadline) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced();
  world.after(std::chrono::seconds(100));

  EXPECT_THAT(failure(), HasSubstr("did not finish step 1 in time: it is updating the parameters"));
}

TEST_F(TrainerTest, TheTaskIsFinalizedOnceAfterTheLastCommitAndBeforeTheEndIsTold) {
  due = {3};
  options.finalize_task = [this] {
    ++finalized;
    EXPECT_FALSE(finished());
  };
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);
  metric_state(3);
  EXPECT_EQ(finalized, 0);

  committed(3);

  EXPECT_TRUE(finished());
  EXPECT_EQ(finalized, 1);
}

TEST_F(TrainerTest, TheTaskOfAJobThatFailsIsNotFinalized) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_EQ(finalized, 0);
}

TEST_F(TrainerTest, ATaskWhoseFinalizeThrowsDoesNotFinish) {
  options.total_steps = 1;
  options.finalize_task = [] { throw Error(ErrorKind::environment, "a bad day"); };
  start();
  step(1);

  EXPECT_THAT(failure(), HasSubstr("a bad day"));
  EXPECT_FALSE(finished());
}

TEST_F(TrainerTest, ANanLossEndsTheJobWithAText) {
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_THAT(failure(), HasSubstr("loss is nan"));
  EXPECT_THAT(failure(), HasSubstr("Lower the learning rate"));
  EXPECT_TRUE(world.heard<wire::ApplyStep>().empty()) << "the parameters stay as they were";
}

TEST_F(TrainerTest, ANanLossIsSkippedIfTheJobSaysSoAndTheNextStepFollows) {
  options.step_end.non_finite = {NonFiniteAction::skip, 10};
  options.step_end.skipped_before = 4;
  due = {1};
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);
  EXPECT_TRUE(world.last<wire::ApplyStep>(executor_id)->getSkip());
  applied(1);
  metric_state(1);

  EXPECT_EQ(failure(), "");
  EXPECT_THAT(events(), ElementsAre("train.ready", "train.step.pre", "train.forward_backward.pre",
                                    "train.forward_backward.post", "train.step.post"));
  EXPECT_EQ(std::string(world.heard<wire::Publish>().back()->getContext()),
            R"({"loss":null,"grad_norm":null,"skipped":true})");
  EXPECT_EQ(world.last<wire::StepFinished>()->getSkippedSteps(), 5U);
  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              HasSubstr(R"("skipped_steps":5)"));
  committed(1);
  batch(2);
  computed(2);
  reduced();
  EXPECT_FALSE(world.last<wire::ApplyStep>(executor_id)->getSkip());
}

TEST_F(TrainerTest, TheInfinityNormIsAMaximumOverAllRanks) {
  options.step_end.clipping = {.max_norm = 0.5, .norm_type = NormType::inf};
  start();
  batch(1);
  computed(1);
  const auto asked = world.heard<wire::ReduceValues>(group_id);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[1]->getOrder(), 1U);
  EXPECT_EQ(asked[1]->getOperation(), wire::ReduceValues::Operation::MAX);
  EXPECT_THAT(to_vector<double>(asked[1]->getValues()), ElementsAre(16));

  reduced(24, 8, 0);
  EXPECT_TRUE(world.heard<wire::ApplyStep>().empty()) << "the maximum is missing";
  world.say<wire::ValuesReduced>(
      trainer_id, [](wire::ValuesReduced::Builder message) { message.initValues(1).set(0, 8); }, group_id);

  EXPECT_NEAR(world.last<wire::ApplyStep>()->getGradientScale(), 0.5 / 8, 1e-6);  // of norm 8 / 8
}

TEST_F(TrainerTest, ANanLossProposesClippingOnlyWhereNoneIsSet) {
  options.step_end.clipping.max_norm.reset();
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_THAT(failure(), HasSubstr("Lower the learning rate, or set trainer.gradient_clipping.max_norm"));
}

TEST_F(TrainerTest, ANanLossWithClippingSetSpeaksOfTheLearningRateAlone) {
  options.step_end.clipping.max_norm = 1.0;
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_THAT(failure(), HasSubstr("Lower the learning rate, or skip such steps"));
}

TEST_F(TrainerTest, AnInfiniteNormEndsTheJobToo) {
  start();
  batch(1);
  computed(1);
  reduced(24, 8, std::numeric_limits<double>::infinity());

  EXPECT_THAT(failure(), HasSubstr("gradient norm is inf"));
}

TEST_F(TrainerTest, AStepWithoutAnyCountedTokenChangesNothing) {
  start();
  batch(1);
  computed(1);
  reduced(0, 0, 0);

  EXPECT_TRUE(world.last<wire::ApplyStep>(executor_id)->getSkip());
  EXPECT_EQ(world.last<wire::ApplyStep>(executor_id)->getGradientScale(), 0);
}

TEST_F(TrainerTest, DataThatEndsEarlyIsTheInputsFault) {
  start();
  world.say<wire::DataEnded>(
      trainer_id, [](wire::DataEnded::Builder ended) { ended.setStep(2); }, loader_id);

  EXPECT_THAT(failure(), HasSubstr("ends before step 2 of 3"));
  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::INPUT);
}

TEST_F(TrainerTest, AStepThatTakesTooLongNamesRankStepAndWhereItIs) {
  start();
  step(1);
  batch(2);
  world.after(std::chrono::seconds(99));
  EXPECT_EQ(failure(), "");

  world.after(std::chrono::seconds(1));

  EXPECT_THAT(failure(), HasSubstr("rank 0 did not finish step 2 in time: it is computing"));
}

TEST_F(TrainerTest, TheFirstStepHasItsOwnLongerDeadline) {
  start();
  world.after(std::chrono::seconds(599));
  EXPECT_EQ(failure(), "");

  world.after(std::chrono::seconds(1));

  EXPECT_THAT(failure(), HasSubstr("step 1 in time: it is waiting for its batch"));
}

TEST_F(TrainerTest, AFinishedStepsDeadlineRingsInVain) {
  start();
  for (const std::uint64_t number : {1, 2, 3}) {
    step(number);
    world.after(std::chrono::seconds(60));
  }
  world.after(std::chrono::hours(1));

  EXPECT_EQ(failure(), "");
}

TEST_F(TrainerTest, ResumedAtAStepItAsksForThatStepAndEndsAtTheSameTotal) {
  start(3);
  const auto grant = world.last<wire::LoadBatches>(loader_id);
  EXPECT_EQ(grant->getStep(), 3U);
  EXPECT_EQ(grant->getCredits(), 1U);

  step(3);

  EXPECT_TRUE(finished());
  EXPECT_EQ(world.last<wire::RankFinished>()->getStep(), 3U);
}

TEST_F(TrainerTest, ACheckpointOfTheLastStepLeavesNothingToTrain) {
  start(4);

  EXPECT_TRUE(finished());
  EXPECT_EQ(finalized, 1);
  EXPECT_TRUE(world.heard<wire::LoadBatches>().empty());
}

// The EventBus of another node answers when it can.
TEST_F(TrainerTest, EventsBeforeTheListenersAreKnownWaitForThem) {
  options.total_steps = 1;
  world.play<Trainer>(trainer_id, options);
  world.say<wire::StartTraining>(trainer_id,
                                 [](wire::StartTraining::Builder start) { start.setFirstStep(1); });
  EXPECT_EQ(world.last<wire::AskForListeners>()->getRank(), 0U);
  step(1);
  EXPECT_TRUE(events().empty());
  EXPECT_FALSE(finished()) << "or nobody would hear of the end";

  listeners({"train.ready", "train.finished"});

  EXPECT_THAT(events(), ElementsAre("train.ready", "train.finished"));
  EXPECT_TRUE(finished());
}

}  // namespace
}  // namespace d9d
