// What actors ask of the job: all ranks do it after the same step, before its checkpoint.
#include "actors/text_messages.hpp"
#include "messages/lists.hpp"
#include "tests/actors/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr ActorId guard_id{Role::user, 0};

class TrainerRequestsTest : public TrainerTest {
 protected:
  TrainerRequestsTest() {
    options.total_steps = 9;
    options.prefetch_steps = 0;
    options.roll_backs.count_max = 3;
    options.checkpoint_dir = [](std::uint64_t step) { return "save-" + std::to_string(step); };
    due = {1};
  }
  void reduced_with(double roll_back, double texts) {
    world.say<wire::ValuesReduced>(
        trainer_id,
        [&](wire::ValuesReduced::Builder message) {
          fill_list(message.initValues(11),
                    std::vector<double>{24, 8, 64, 128, 0, 0, 0, 0, roll_back, texts, 0});
        },
        group_id);
  }
  void save_first_step() {
    start();
    step(1);
    metric_state(1);
    committed(1);
  }
  void ask_for_texts() {
    world.say<wire::GenerateTexts>(
        trainer_id,
        [](wire::GenerateTexts::Builder message) {
          fill_request(message, {.prompts = {{5, 9}}, .options = {}});
        },
        guard_id);
  }
  void roll_back(std::uint64_t before) {
    world.say<wire::RollBack>(
        trainer_id, [&](wire::RollBack::Builder message) { message.setBefore(before); }, guard_id);
  }
};

TEST_F(TrainerRequestsTest, TheStateOfACheckpointReplacesThatOfTheStepAndIsSavedAgain) {
  save_first_step();
  batch(2);
  roll_back(2);
  computed(2);
  EXPECT_EQ(world.last<wire::ReduceValues>(group_id)->getValues()[8], 2) << "one more than the step";

  reduced_with(2, 0);
  const auto restore = world.last<wire::RestoreState>(executor_id);
  EXPECT_EQ(std::string(restore->getDirectory()), "save-1");
  batch(3);
  EXPECT_EQ(begun(), 2U) << "the next step waits";
  applied(2);
  world.say<wire::StateRestored>(
      trainer_id, [](wire::StateRestored::Builder message) { message.setStep(2); }, executor_id);

  EXPECT_EQ(snapshots(), 2U);
  metric_state(2);
  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              HasSubstr(R"("skipped_steps":1,"roll_backs":1)"));
  EXPECT_THAT(events(), Contains("train.rolled_back"));
}

TEST_F(TrainerRequestsTest, ARollBackThatIsOneTooManyEndsTheJob) {
  options.roll_backs.count_max = 0;
  save_first_step();
  roll_back(2);

  EXPECT_THAT(failure(), HasSubstr("roll_backs_max"));
}

TEST_F(TrainerRequestsTest, TextsAreMadeAfterTheStepOnWhichAllAgree) {
  options.world_size = 2;
  save_first_step();
  ask_for_texts();
  const auto passed = world.last<wire::GenerateTexts>(ActorId{Role::trainer, 1});
  EXPECT_EQ(passed->getNumber(), 1U);
  EXPECT_EQ(passed->getAsker(), guard_id.packed());

  batch(2);
  computed(2);
  reduced_with(0, 1);

  const auto made = world.last<wire::GenerateTexts>(executor_id);
  EXPECT_EQ(made->getStep(), 2U);
  EXPECT_EQ(made->getPrompts()[0].getIds()[1], 9);
  batch(3);
  EXPECT_EQ(begun(), 2U);
  world.say<wire::StepComputed>(
      trainer_id,
      [](wire::StepComputed::Builder message) {
        message.setStep(2);
        message.setEvaluation(first_texts_evaluation + 1);
      },
      executor_id);
  EXPECT_EQ(begun(), 3U);
}

TEST_F(TrainerRequestsTest, AnotherRankWaitsForTheRequestThatAllAgreeOn) {
  options.rank = 1;
  start();
  batch(1);
  computed(1);
  reduced_with(0, 1);
  EXPECT_TRUE(world.heard<wire::GenerateTexts>(executor_id).empty());

  world.say<wire::GenerateTexts>(trainer_id, [](wire::GenerateTexts::Builder message) {
    fill_request(message, {.prompts = {{5}}, .options = {}});
    message.setNumber(1);
    message.setAsker(guard_id.packed());
  });

  EXPECT_EQ(world.heard<wire::GenerateTexts>(executor_id).size(), 1U);
}

}  // namespace
}  // namespace d9d
