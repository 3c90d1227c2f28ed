// What others ask of a stage between its steps.
#include "actors/notes/text_messages.hpp"
#include "tests/actors/rank_executor_fixture.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using namespace test;

TEST_F(StageTest, HandsWhatItsMetricsCountedToTheCollectorOfItsRank) {
  script.metrics = {0.5, 64};
  play();
  world->say<wire::CollectMetrics>(executor_id, [](wire::CollectMetrics::Builder ask) { ask.setStep(4); });

  const auto taken = world->last<wire::MetricsTaken>(ActorId{Role::metric_collector, 0});
  EXPECT_EQ(taken->getStep(), 4U);
  EXPECT_THAT(to_vector<double>(taken->getState()), ElementsAre(0.5, 64));
}

TEST_F(StageTest, AppliesWithTheTrainersScaleAndRate) {
  play();
  world->say<wire::ApplyStep>(executor_id, [](wire::ApplyStep::Builder apply) {
    apply.setStep(3);
    apply.setGradientScale(0.25);
    apply.setLrMultiplier(0.5);
  });

  world->say<wire::ApplyStep>(executor_id, [](wire::ApplyStep::Builder apply) { apply.setSkip(true); });

  EXPECT_THAT(script.applied, ElementsAre("0.25 0.5", "skipped"));
  EXPECT_EQ(world->heard<wire::StepApplied>(trainer_id).front()->getStep(), 3U);
}

TEST_F(StageTest, ASnapshotGoesToTheWriterOfItsNodeEvenWhenThereIsNothingToWrite) {
  script.metrics = {0.5, 64};
  play();
  for (const Ticket copy : {ticket(4), Ticket{}}) {
    script.snapshot = copy;
    world->say<wire::Snapshot>(executor_id, [](wire::Snapshot::Builder snapshot) {
      snapshot.setStep(6);
      snapshot.setDirectory("dir");
    });

    const auto write = world->last<wire::WriteShard>(ActorId{Role::checkpoint_writer, 0});
    EXPECT_EQ(write->getTicket(), copy.packed());
    EXPECT_EQ(std::string(write->getDirectory()), "dir");
    EXPECT_EQ(write->getRank(), 0);
    EXPECT_EQ(std::string(world->last<wire::MetricState>(trainer_id)->getState()), "2");
  }
}

TEST_F(StageTest, CallsTheGradientHooksWhenToldTo) {
  play();
  world->say<wire::HookGradients>(executor_id, [](wire::HookGradients::Builder hook) {
    hook.setStep(3);
    hook.setLoss(2.5);
    hook.setWeight(4);
  });

  EXPECT_THAT(script.applied, ElementsAre("hooks of 3: 2.5 4"));
  const auto hooked = world->last<wire::GradientsHooked>(trainer_id);
  EXPECT_EQ(hooked->getStep(), 3U);
  EXPECT_EQ(hooked->getNormShare(), 0.25);
  EXPECT_TRUE(hooked->getSkip());
}

TEST_F(StageTest, SaysOnceThatAStepHasEndedAndAgainAfterASleep) {
  script.program = {};
  play();
  const auto steps_from = [&](std::uint64_t first) {
    std::vector<int> times;
    for (std::uint64_t step = first; step < first + 3; ++step) {
      begin(step);
      times.push_back(script.times_a_step_had_ended);
      world->say<wire::ApplyStep>(executor_id, [&](wire::ApplyStep::Builder apply) { apply.setStep(step); });
    }
    return times;
  };

  EXPECT_THAT(steps_from(1), ElementsAre(0, 1, 1));
  world->say<wire::Wake>(executor_id, [](wire::Wake::Builder wake) { wake.setStep(3); });
  EXPECT_THAT(steps_from(4), ElementsAre(1, 2, 2));
}

TEST_F(StageTest, SleepsAndWakesWhenToldTo) {
  play();
  world->say<wire::Sleep>(executor_id, [](wire::Sleep::Builder sleep) {
    sleep.setStep(3);
    sleep.setFile("asleep/rank-0");
  });
  EXPECT_EQ(world->last<wire::Slept>(trainer_id)->getBytes(), 4096U);
  EXPECT_EQ(world->heard<wire::Sleep>(ActorId{Role::metric_collector, executor_id.index}).size(), 1U);

  world->say<wire::Wake>(executor_id, [](wire::Wake::Builder wake) { wake.setStep(3); });

  EXPECT_EQ(world->last<wire::Awake>(trainer_id)->getStep(), 3U);
  EXPECT_THAT(script.applied, ElementsAre("sleeps in asleep/rank-0", "awake"));
}

TEST_F(StageTest, SendsItsRolloutsToTheLoadersOfItsReplica) {
  script.program = {};
  script.texts = {{{7, 1}, {-0.5F, -1}}, {{1}, {-2}}};
  same_samples = {0, 2};
  play();
  world->say<wire::WriteRollouts>(executor_id, [](wire::WriteRollouts::Builder write) {
    const TextRequest request{.prompts = {{5}, {6}}, .options = {}, .first = 64};
    fill_rollouts(write, request, request.prompts);
    write.setStep(9);
    write.setAfter(8);
  });

  for (const std::uint64_t rank : {0, 2}) {
    const auto written = world->last<wire::RolloutsWritten>(ActorId{Role::loader, rank});
    EXPECT_EQ(written->getStep(), 9U);
    EXPECT_EQ(texts_of(written.operator->().reader), script.texts);
  }
  EXPECT_EQ(script.asked_for.first, 64U);
  EXPECT_TRUE(script.asked_for.of_replica && script.asked_for.options.log_probs);
  const auto computed = world->last<wire::StepComputed>(trainer_id);
  EXPECT_EQ(computed->getStep(), 8U);
  EXPECT_EQ(pass_of(computed->getPass()), (Pass{PassKind::ROLLOUTS, 9}));
}

}  // namespace
}  // namespace d9d
