// The end of a step that trains: sums, hooks, norm, update.
#include <csignal>

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a step costs: a message more would be paid in each one.
TEST_F(TrainerTest, AStepNeedsTheseMessagesInThisOrder) {
  wanted = {};
  start();
  const std::size_t before = world.told().size();
  step(1);

  std::vector<std::uint64_t> types;
  for (std::size_t i = before; i < world.told().size(); ++i) {
    if (world.told()[i].header.sender == trainer_id) types.push_back(world.told()[i].type);
  }
  EXPECT_EQ(types,
            (std::vector<std::uint64_t>{capnp::typeId<wire::BeginStep>(), capnp::typeId<wire::ReduceValues>(),
                                        capnp::typeId<wire::ApplyStep>(), capnp::typeId<wire::StepFinished>(),
                                        capnp::typeId<wire::LoadBatches>()}));
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
  training.step_end.clipping.max_norm = 0.5;
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

struct TrainerUpdatesTest : TrainerTest {
  TrainerUpdatesTest() {
    options.phases =
        StepPhases({{"critic", PhaseKind::train, 0, 0}, {"maker", PhaseKind::train, 0, 1}}, {{}, {}});
  }
  void computed_update(std::uint32_t update) {
    world.say<wire::StepComputed>(
        trainer_id,
        [&](wire::StepComputed::Builder message) {
          message.setStep(1);
          message.initPass().setNumber(update);
        },
        executor_id);
  }
  // The wishes of all ranks come with the last update alone.
  void reduced_first(double loss_sum, double weight) {
    world.say<wire::ValuesReduced>(
        trainer_id,
        [&](wire::ValuesReduced::Builder message) {
          const auto values =
              to_values({.loss_sum = loss_sum, .weight_sum = weight, .norm_share = 4, .tokens = 128});
          fill_list(message.initValues(static_cast<unsigned>(values.size())), values);
        },
        group_id);
  }
};

TEST_F(TrainerUpdatesTest, EachHasItsMicrobatchesItsSumsAndItsScale) {
  start();
  batch(1);
  const auto first = world.last<wire::BeginStep>(executor_id);
  EXPECT_THAT(to_vector<std::uint64_t>(first->getMicrobatches()), ElementsAre(Ticket{10, 5}.packed()));
  EXPECT_EQ(first->getPass().getNumber(), 0U);
  computed_update(0);
  signalled(SIGUSR1);
  EXPECT_EQ(step_totals_from(asked_values()).tokens, 64);
  reduced_first(3, 2);
  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getGradientScale(), 1.0 / 2);

  const auto second = world.last<wire::BeginStep>(executor_id);
  EXPECT_THAT(to_vector<std::uint64_t>(second->getMicrobatches()), ElementsAre(Ticket{11, 5}.packed()));
  EXPECT_EQ(second->getPass().getNumber(), 1U);
  EXPECT_TRUE(world.heard<wire::StepFinished>().empty());
  applied(1);
  computed_update(1);
  EXPECT_EQ(asked_totals().tokens, 0) << "they are counted with the first";
  EXPECT_EQ(asked_wishes().saves, 1) << "with the last update of the step";
  world.say<wire::ValuesReduced>(
      trainer_id,
      [](wire::ValuesReduced::Builder message) {
        fill_totals(message, {.loss_sum = 24, .weight_sum = 8, .norm_share = 64});
      },
      group_id);

  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getGradientScale(), 1.0 / 8);
  const auto report = world.last<wire::StepFinished>(ActorId{Role::tracker, 0});
  EXPECT_DOUBLE_EQ(report->getLoss(), 27.0 / 10) << "over all microbatches";
  EXPECT_DOUBLE_EQ(report->getGradNorm(), 1) << "of the last update";
  EXPECT_EQ(report->getTokens(), 128U);
  EXPECT_EQ(world.heard<wire::LoadBatches>().size(), 2U) << "the next step is asked for once";
}

TEST_F(TrainerUpdatesTest, AreCountedApartWhereTheyAreSkipped) {
  training.step_end.non_finite = {NonFiniteAction::skip, 10};
  training.step_end.skipped_before = {4, 1};
  due = {1};
  start();
  batch(1);
  computed_update(0);
  reduced_first(std::numeric_limits<double>::quiet_NaN(), 2);
  EXPECT_TRUE(world.last<wire::ApplyStep>(executor_id)->getSkip());
  applied(1);
  computed_update(1);
  reduced();
  EXPECT_FALSE(world.last<wire::ApplyStep>(executor_id)->getSkip());
  applied(1);
  metric_state(1);

  EXPECT_EQ(world.last<wire::StepFinished>()->getSkippedSteps(), 6U);
  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              HasSubstr(R"("skipped_steps":[5,1])"));
}

TEST_F(TrainerTest, MetricsAreCollectedWhenDue) {
  start();
  for (const std::uint64_t number : {1, 2, 3}) step(number);

  const auto collected = world.heard<wire::CollectMetrics>(executor_id);
  ASSERT_EQ(collected.size(), 1U);
  EXPECT_EQ(collected[0]->getStep(), 2U);
}

TEST_F(TrainerTest, TheTaskOfAJobThatFailsIsNotFinalized) {
  options.total_steps = 1;
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_EQ(finalized, 0);
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
  training.step_end.non_finite = {NonFiniteAction::skip, 10};
  training.step_end.skipped_before = {4};
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
  training.step_end.clipping = {.max_norm = 0.5, .norm_type = NormType::inf};
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
  training.step_end.clipping.max_norm.reset();
  start();
  batch(1);
  computed(1);
  reduced(std::numeric_limits<double>::quiet_NaN(), 8, 64);

  EXPECT_THAT(failure(), HasSubstr("Lower the learning rate, or set trainer.gradient_clipping.max_norm"));
}

TEST_F(TrainerTest, ANanLossWithClippingSetSpeaksOfTheLearningRateAlone) {
  training.step_end.clipping.max_norm = 1.0;
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

class TrainerHooksTest : public TrainerTest {
 protected:
  TrainerHooksTest() { training.step_end.has_hooks = true; }

  void hooked(std::uint64_t step, double norm_share, bool skip) {
    world.say<wire::GradientsHooked>(
        trainer_id,
        [&](wire::GradientsHooked::Builder message) {
          message.setStep(step);
          message.setNormShare(norm_share);
          message.setSkip(skip);
        },
        executor_id);
  }
  void norm_reduced(double norm_share, double skips) {
    world.say<wire::ValuesReduced>(
        trainer_id,
        [&](wire::ValuesReduced::Builder message) {
          fill_list(message.initValues(2), std::vector<double>{norm_share, skips});
        },
        group_id);
  }
  std::size_t applies() { return world.heard<wire::ApplyStep>(executor_id).size(); }
};

TEST_F(TrainerHooksTest, HooksComeBetweenTheSumsAndTheNorm) {
  start();
  batch(1);
  computed(1);
  reduced(24, 8, 0);

  const auto hook = world.last<wire::HookGradients>(executor_id);
  EXPECT_EQ(hook->getStep(), 1U);
  EXPECT_EQ(hook->getWeight(), 8);
  EXPECT_EQ(hook->getLoss(), 3);
  EXPECT_EQ(applies(), 0U);
  hooked(1, 9, false);
  EXPECT_EQ(applies(), 0U) << "other ranks may want no update";
  EXPECT_THAT(to_vector<double>(world.last<wire::ReduceValues>(group_id)->getValues()), ElementsAre(9, 0));
  norm_reduced(16, 0);

  const auto apply = world.last<wire::ApplyStep>(executor_id);
  EXPECT_FALSE(apply->getSkip());
  EXPECT_EQ(apply->getGradientScale(), 1);
  EXPECT_EQ(world.last<wire::StepFinished>()->getGradNorm(), 4);
  EXPECT_EQ(world.last<wire::StepFinished>()->getLoss(), 3);
}

TEST_F(TrainerHooksTest, NoRankUpdatesWhereOneHookWantsNone) {
  start();
  batch(1);
  computed(1);
  reduced();
  hooked(1, 9, false);
  norm_reduced(16, 1);

  EXPECT_TRUE(world.last<wire::ApplyStep>(executor_id)->getSkip());
  EXPECT_EQ(world.last<wire::StepFinished>()->getSkippedSteps(), 1U);
  applied(1);
  batch(2);
  EXPECT_EQ(begun(), 2U);
}

TEST_F(TrainerHooksTest, AnAnswerToNoQuestionIsABug) {
  start();
  batch(1);
  hooked(1, 9, false);

  EXPECT_THAT(failure(), ::testing::HasSubstr("gradients of step 1 are hooked while step 1 is computing"));
}

TEST_F(TrainerTest, TellsWhatItsTaskRecordedBeforeTheStepIsFinished) {
  start();
  batch(1);
  options.users.records->add({1, "samples/first", TextRecord{"and the king"}});
  options.users.records->add({1, "share", 0.5});
  computed(1);
  reduced(24, 8, 9);

  const auto told = world.heard<wire::RecordValue>(ActorId{Role::tracker, 0});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]->getText(), "and the king");
  EXPECT_EQ(told[1]->getNumber(), 0.5);
  EXPECT_EQ(world.heard<wire::StepFinished>().size(), 1U);
  EXPECT_TRUE(options.users.records->take().empty());
}

}  // namespace
}  // namespace d9d
