// The end of a Trainer's step in a job with gradient hooks: sums, hooks, norm, update.
#include "messages/lists.hpp"
#include "tests/actors/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace testing;
using ::testing::ElementsAre;

class TrainerHooksTest : public TrainerTest {
 protected:
  TrainerHooksTest() { options.step_end.has_hooks = true; }

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
  options.records->add({1, "samples/first", TextRecord{"and the king"}});
  options.records->add({1, "share", 0.5});
  computed(1);
  reduced(24, 8, 9);

  const auto told = world.heard<wire::RecordValue>(ActorId{Role::tracker, 0});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]->getText(), "and the king");
  EXPECT_EQ(told[1]->getNumber(), 0.5);
  EXPECT_EQ(world.heard<wire::StepFinished>().size(), 1U);
  EXPECT_TRUE(options.records->take().empty());
}

}  // namespace
}  // namespace d9d
