// The Trainer of an inference job: steps without anything to apply.
#include "messages/lists.hpp"
#include "tests/actors/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace testing;

class TrainerInferenceTest : public TrainerTest {
 protected:
  TrainerInferenceTest() { options.infers = true; }
  void inferred(std::uint64_t number) {
    batch(number);
    world.say<wire::StepComputed>(
        trainer_id,
        [&](wire::StepComputed::Builder message) {
          message.setStep(number);
          fill_pass(message.initPass(), {PassKind::INFER});
          message.setWeightSum(8);
        },
        executor_id);
    reduced(0, 0);
  }
};

TEST_F(TrainerInferenceTest, AppliesNothingAndNeedsNoTokenThatCounts) {
  start();
  inferred(1);

  EXPECT_EQ(failure(), "");
  EXPECT_EQ(world.last<wire::BeginStep>(executor_id)->getPass().getKind(), PassKind::INFER);
  EXPECT_TRUE(world.heard<wire::ApplyStep>().empty());
  const auto finished = world.last<wire::StepFinished>();
  EXPECT_TRUE(finished->getInference());
  EXPECT_EQ(finished->getTokens(), 128U);
}

TEST_F(TrainerInferenceTest, ItsEventsHaveNamesOfTheirOwn) {
  options.total_steps = 1;
  start();
  inferred(1);

  EXPECT_TRUE(finished());
  EXPECT_THAT(events(),
              ::testing::ElementsAre("inference.ready", "inference.step.pre", "inference.forward.pre",
                                     "inference.forward.post", "inference.step.post", "inference.finished"));
}

TEST_F(TrainerInferenceTest, WritesCheckpointsToGoOnFrom) {
  due = {1};
  start();
  inferred(1);

  EXPECT_EQ(world.last<wire::Snapshot>()->getStep(), 1U);
}

}  // namespace
}  // namespace d9d
