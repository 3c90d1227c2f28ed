// The steps of an inference job: nothing is applied.
#include "actors/loop/inferrer.hpp"

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace test;

class InferrerTest : public TrainerTest {
 protected:
  InferrerTest() { options.users.events = std::make_shared<RankEvents>(0, true); }
  void play() override { world.play<Inferrer>(trainer_id, options); }
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

TEST_F(InferrerTest, AppliesNothingAndNeedsNoTokenThatCounts) {
  start();
  inferred(1);

  EXPECT_EQ(failure(), "");
  EXPECT_EQ(world.last<wire::BeginStep>(executor_id)->getPass().getKind(), PassKind::INFER);
  EXPECT_TRUE(world.heard<wire::ApplyStep>().empty());
  const auto finished = world.last<wire::StepFinished>();
  EXPECT_TRUE(finished->getInference());
  EXPECT_EQ(finished->getTokens(), 128U);
}

TEST_F(InferrerTest, ItsEventsHaveNamesOfTheirOwn) {
  options.total_steps = 1;
  start();
  inferred(1);

  EXPECT_TRUE(finished());
  EXPECT_THAT(events(),
              ::testing::ElementsAre("inference.ready", "inference.step.pre", "inference.forward.pre",
                                     "inference.forward.post", "inference.step.post", "inference.finished"));
}

TEST_F(InferrerTest, WritesCheckpointsToGoOnFrom) {
  due = {1};
  start();
  inferred(1);

  EXPECT_EQ(world.last<wire::Snapshot>()->getStep(), 1U);
}

TEST_F(InferrerTest, RefusesWhatOnlyAJobThatTrainsCanServe) {
  start();
  world.say<wire::RollBack>(trainer_id, [](wire::RollBack::Builder) {}, {Role::user, 0});

  EXPECT_THAT(failure(), ::testing::HasSubstr("asks for an earlier state, and an inference job has none"));
  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::INPUT);
}

}  // namespace
}  // namespace d9d
