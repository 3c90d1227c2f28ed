// What the steps of a rank have in common: batches, reductions, events, deadlines, the end.
#include "messages/lists.hpp"
#include "messages/trace.capnp.h"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace test;

TEST_F(TrainerTest, AStepBeginsOnlyWithItsBatch) {
  start();
  EXPECT_EQ(begun(), 0U);

  batch(1);

  const auto begin = world.last<wire::BeginStep>(executor_id);
  EXPECT_EQ(begin->getStep(), 1U);
  ASSERT_EQ(begin->getMicrobatches().size(), 2U);
  EXPECT_EQ(begin->getMicrobatches()[1], (Ticket{11, 5}.packed()));
}

TEST_F(TrainerTest, AMessageThatDoesNotFitItsStateIsABugThatNamesTheState) {
  start();
  computed(1);

  EXPECT_THAT(failure(), HasSubstr("step 1 was computed while step 1 is waiting for its batch"));
}

TEST_F(TrainerTest, ASecondStartIsABug) {
  start();
  world.say<wire::StartTraining>(trainer_id, [](wire::StartTraining::Builder s) { s.setFirstStep(1); });

  EXPECT_THAT(failure(), HasSubstr(R"("waiting for its batch" cannot follow "waiting for its batch")"));
}

TEST_F(TrainerTest, ABatchBeforeTheStartWaits) {
  play();
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

// LOOP-91.
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

TEST_F(TrainerTest, ATraceWindowIsFlushedOnEveryNodeAfterItsLastStep) {
  options.shown.trace_window = {.period = 2, .active = 1};
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
  options.users.finalize_task = [this] {
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

TEST_F(TrainerTest, ATaskWhoseFinalizeThrowsDoesNotFinish) {
  options.total_steps = 1;
  options.users.finalize_task = [] { throw Error(ErrorKind::environment, "a bad day"); };
  start();
  step(1);

  EXPECT_THAT(failure(), HasSubstr("a bad day"));
  EXPECT_FALSE(finished());
}

TEST_F(TrainerTest, DataThatEndsEarlyIsTheInputsFault) {
  start();
  world.say<wire::DataEnded>(
      trainer_id, [](wire::DataEnded::Builder ended) { ended.setStep(2); }, loader_id);

  EXPECT_THAT(failure(), HasSubstr("ends before step 2 of 3"));
  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::INPUT);
}

TEST_F(TrainerTest, AStreamThatEndsAsksAllRanksToEndWithItsLastStep) {
  options.prefetch_steps = 1;
  options.saves.on = false;
  start();
  batch(1, true);
  world.say<wire::DataEnded>(
      trainer_id, [](wire::DataEnded::Builder ended) { ended.setStep(2); }, loader_id);
  computed(1);
  EXPECT_EQ(asked_wishes().ends, 1);
  reduced_with({.ends = 1});
  applied(1);

  EXPECT_EQ(failure(), "");
  EXPECT_TRUE(finished());
  EXPECT_EQ(std::string(world.last<wire::RankFinished>()->getEnded()), "the stream of its data has ended");
}

TEST_F(TrainerTest, EndsWithTheStreamOfAnotherRank) {
  options.prefetch_steps = 0;
  options.saves.on = false;
  start();
  batch(1);
  computed(1);
  EXPECT_EQ(asked_wishes().ends, 0);
  reduced_with({.ends = 1});
  applied(1);

  EXPECT_TRUE(finished());
  EXPECT_EQ(std::string(world.last<wire::RankFinished>()->getEnded()), "the stream of its data has ended");
}

TEST_F(TrainerTest, AStreamThatEndsWithTheJobsLastStepAsksForNothing) {
  options.total_steps = 1;
  start();
  batch(1, true);
  computed(1);

  EXPECT_EQ(asked_wishes().ends, 0);
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
  play();
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
