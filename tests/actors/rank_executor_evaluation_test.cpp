// A stage between two steps: forward alone, and a neighbour may be ahead.
#include "tests/actors/rank_executor_fixture.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using namespace test;

// The stage before may be several batches ahead.
TEST_F(StageTest, EvaluatesBatchesWhoseTensorsCameEarly) {
  script.program = {"1F0"};
  followers = {7};
  play();
  const auto activation = [&](std::uint32_t evaluation) {
    world->say<wire::ActivationReady>(executor_id, [&](wire::ActivationReady::Builder message) {
      message.setStep(4);
      fill_pass(message.initPass(), {PassKind::EVALUATE, evaluation});
      message.setStage(1);
    });
  };
  const auto evaluate = [&](std::uint32_t evaluation) {
    world->say<wire::BeginStep>(executor_id, [&](wire::BeginStep::Builder begin) {
      begin.setStep(4);
      fill_pass(begin.initPass(), {PassKind::EVALUATE, evaluation});
      begin.initMicrobatches(1);
    });
  };
  activation(2);
  activation(1);

  evaluate(1);
  EXPECT_EQ(steps_computed(), 1U);
  evaluate(2);

  EXPECT_THAT(script.ran, ElementsAre("prepare", "evaluate after 4", "1F0", "evaluate after 4", "1F0"));
  EXPECT_EQ(steps_computed(), 2U);
  EXPECT_EQ(pass_of(world->last<wire::StepComputed>()->getPass()), (Pass{PassKind::EVALUATE, 2}));
  EXPECT_EQ(world->last<wire::StepComputed>()->getLossSum(), 8);
  EXPECT_TRUE(world->heard<wire::LeadAction>().empty()) << "all ranks evaluate in the same order";
}

TEST_F(StageTest, GivesTheMetricsOfAnEvaluationApart) {
  script.metrics = {1, 2};
  play();
  for (const bool evaluation : {true, false}) {
    world->say<wire::CollectMetrics>(executor_id, [&](wire::CollectMetrics::Builder collect) {
      collect.setStep(4);
      collect.setEvaluation(evaluation);
    });
    const auto taken = world->last<wire::MetricsTaken>();
    EXPECT_EQ(taken->getEvaluation(), evaluation);
    EXPECT_EQ(to_vector<double>(taken->getState()),
              evaluation ? (std::vector{7.0, 8.0}) : (std::vector{1.0, 2.0}));
  }
}

TEST_F(StageTest, CallsSubscribersAroundAllBatchesOfAnEvaluation) {
  const auto all = std::make_shared<RankEvents>(0, false);
  const auto note = [&](const std::string& name) { script.ran.push_back(name); };
  all->on<events::EvaluationPre>(
      "me", [&](const events::EvaluationPre& pre) { note(fmt::format("pre {}", pre.step)); });
  all->on<events::EvaluationPost>("me", [&](const events::EvaluationPost& post) {
    note(fmt::format("post {} {}", post.step, post.loss));
  });
  all->on<events::StepPre>("me", [&](const events::StepPre&) { note("step.pre"); });
  script_events = all;
  script.program = {"1F0"};
  play();
  for (const std::uint32_t batch : {1U, 2U}) {
    world->say<wire::BeginStep>(executor_id, [&](wire::BeginStep::Builder begin) {
      begin.setStep(4);
      fill_pass(begin.initPass(), {PassKind::EVALUATE, batch});
      begin.initMicrobatches(1);
    });
    world->say<wire::ActivationReady>(executor_id, [&](wire::ActivationReady::Builder message) {
      message.setStep(4);
      fill_pass(message.initPass(), {PassKind::EVALUATE, batch});
      message.setStage(1);
    });
  }
  world->say<wire::CollectMetrics>(executor_id, [](wire::CollectMetrics::Builder collect) {
    collect.setStep(4);
    collect.setEvaluation(true);
    collect.setLoss(2.5);
  });

  EXPECT_THAT(script.ran, ElementsAre("prepare", "pre 4", "evaluate after 4", "1F0", "evaluate after 4",
                                      "1F0", "post 4 2.5"));
}

}  // namespace
}  // namespace d9d
