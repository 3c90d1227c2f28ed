// The law of the stage: messages may arrive in any order, actions run in program order.
#include "tests/actors/rank_executor_fixture.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using namespace test;

TEST_F(StageTest, PreparesItsWorkerAndSaysReady) {
  play();

  EXPECT_THAT(script.ran, ElementsAre("prepare"));
  const auto ready = world->last<wire::Ready>(ActorWorld::parent_id);
  EXPECT_EQ(ready->getRank(), 0);
  EXPECT_EQ(ready->getEntries(), 5U);
}

TEST_F(StageTest, RunsItsProgramWhenMessagesArriveBackwards) {
  play();
  begin(1);
  ready<wire::GradientReady>(1, 1);
  ready<wire::GradientReady>(1, 0);
  ready<wire::ActivationReady>(1, 1);
  ready<wire::ActivationReady>(1, 0);

  world->run();

  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0", "1F1", "1B0", "1B1"));
  EXPECT_EQ(steps_computed(), 1U);
}

TEST_F(StageTest, RunsItsProgramInAnyOrderOfDelivery) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    script.ran.clear();
    play(seed);
    world->post<wire::BeginStep>(executor_id, [](wire::BeginStep::Builder begin) {
      begin.setStep(1);
      begin.initMicrobatches(2);
    });
    for (std::uint32_t microbatch : {0, 1}) {
      ready<wire::ActivationReady>(1, microbatch, {Role::probe, 10 + microbatch});
      ready<wire::GradientReady>(1, microbatch, {Role::probe, 20 + microbatch});
    }

    world->run();

    ASSERT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0", "1F1", "1B0", "1B1"))
        << "seed " << seed;
    ASSERT_EQ(steps_computed(), 1U) << "seed " << seed;
  }
}

TEST_F(StageTest, HoldsActivationsOfAStepThatHasNotBegunHere) {
  script.program = {"1F0"};
  play();
  ready<wire::ActivationReady>(1, 0);
  world->run();
  EXPECT_THAT(script.ran, ElementsAre("prepare"));

  begin(1);
  ready<wire::ActivationReady>(2, 0);
  world->run();
  EXPECT_EQ(steps_computed(), 1U);
  begin(2);

  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0", "begin 2 of 2", "1F0"));
  EXPECT_EQ(steps_computed(), 2U);
}

TEST_F(StageTest, ASecondBeginningWhileAStepRunsIsABug) {
  play();
  begin(1);
  begin(2);

  const auto failed = world->last<wire::Failed>();
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::BUG);
  EXPECT_NE(std::string(failed->getText()).find("step 2 begins while step 1"), std::string::npos);
}

TEST_F(StageTest, AsksItsCollectiveForEachBucketAndFinishesOnlyWhenAllAreReduced) {
  script.program = {"1F0", "1B0"};
  script.bucket_groups = {-1, 0, 0};
  script.completes = {{"1F0", 2}, {"1B0", 1}};
  play();
  begin(1);
  ready<wire::ActivationReady>(1, 0);
  ready<wire::GradientReady>(1, 0);
  world->run();

  const auto asked = world->heard<wire::ReduceBucket>(gradients_id);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0]->getBucket(), 2U);
  EXPECT_EQ(asked[1]->getBucket(), 1U);
  EXPECT_EQ(steps_computed(), 0U);

  reduced(1, 2, 0.25);
  EXPECT_EQ(steps_computed(), 0U);
  reduced(1, 1, 0.125);
  const auto computed = world->last<wire::StepComputed>(trainer_id);
  EXPECT_EQ(computed->getNormShare(), 0.5 + 0.25 + 0.125);
  EXPECT_EQ(computed->getLossSum(), 6);
  EXPECT_EQ(computed->getWeightSum(), 3);
}

TEST_F(StageTest, ABucketReducedEarlyDoesNotFinishTheStep) {
  script.program = {"1F0", "1B0"};
  script.bucket_groups = {0};
  script.completes = {{"1F0", 0}};
  play();
  begin(1);
  ready<wire::ActivationReady>(1, 0);
  world->run();
  reduced(1, 0, 0);
  EXPECT_EQ(steps_computed(), 0U);

  ready<wire::GradientReady>(1, 0);
  world->run();

  EXPECT_EQ(steps_computed(), 1U);
}

TEST_F(StageTest, HandsTensorsToTheHolderInItsProcessAndToALaneForARemoteRank) {
  script.program = {"1F0", "1B0"};
  script.outputs["1F0"] = {{false, 2, 0, ticket(7)}};
  script.outputs["1B0"] = {{true, 0, 0, ticket(8)}};
  play();
  begin(1);
  ready<wire::ActivationReady>(1, 0);
  ready<wire::GradientReady>(1, 0);
  world->run();

  const auto sent = world->last<wire::SendTensors>(lane_id(0, 2, LaneEnd::sender));
  EXPECT_EQ(sent->getStage(), 2U);
  EXPECT_EQ(sent->getTicket(), ticket(7).packed());
  EXPECT_FALSE(sent->getGradient());
  const auto gradient = world->last<wire::GradientReady>(ActorId{Role::rank_executor, 1});
  EXPECT_EQ(gradient->getStage(), 0U);
  EXPECT_EQ(gradient->getTicket(), ticket(8).packed());
  EXPECT_TRUE(world->heard<wire::SendTensors>(lane_id(0, 0, LaneEnd::sender)).empty()) << "never to itself";
}

TEST_F(StageTest, AStageOfItsOwnRankHearsOfItsTensorByAnOrdinaryMessage) {
  script.program = {"1F0", "1F1"};
  script.outputs["1F0"] = {{false, 1, 1, ticket(9)}};
  play();
  begin(1);
  ready<wire::ActivationReady>(1, 0);

  world->run();

  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0", "1F1"));
}

TEST_F(StageTest, ALeaderTellsItsFollowersWhatItRunsNextAndTheyHearItBeforeItsResults) {
  script.program = {"1F0", "1B0"};
  script.outputs["1F0"] = {{false, 0, 0, ticket(7)}};
  followers = {4, 5};
  play();
  begin(3);
  ready<wire::ActivationReady>(3, 0);
  ready<wire::GradientReady>(3, 0);
  world->run();

  for (const std::uint64_t follower : {4, 5}) {
    const auto led = world->heard<wire::LeadAction>(ActorId{Role::rank_executor, follower});
    ASSERT_EQ(led.size(), 2U);
    EXPECT_EQ(led[0]->getStep(), 3U);
    EXPECT_EQ(led[0]->getNumber(), 0U);
    EXPECT_EQ(led[0]->getParts()[0].getKind(), wire::LeadAction::Kind::FORWARD);
    EXPECT_EQ(led[1]->getNumber(), 1U);
    EXPECT_EQ(led[1]->getParts()[0].getKind(), wire::LeadAction::Kind::BACKWARD);
  }
  const auto& told = world->told();
  const auto first = [&](std::uint64_t type) {
    return std::find_if(told.begin(), told.end(), [&](const auto& message) { return message.type == type; });
  };
  EXPECT_LT(first(capnp::typeId<wire::LeadAction>()), first(capnp::typeId<wire::SendTensors>()) + 1);
}

TEST_F(StageTest, ALeaderCountsItsActionsFromZeroInEachStep) {
  script.program = {"1F0"};
  followers = {4};
  play();
  for (const std::uint64_t step : {1, 2}) {
    begin(step);
    ready<wire::ActivationReady>(step, 0);
    world->run();
    EXPECT_EQ(world->last<wire::LeadAction>()->getNumber(), 0U);
    EXPECT_EQ(world->last<wire::LeadAction>()->getStep(), step);
  }
}

TEST_F(StageTest, AFollowerRunsWhatItsLeaderChoseAndNothingElseHoweverMessagesArrive) {
  follows = true;
  script.order = CursorOrder::dynamic;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    script.ran.clear();
    play(seed);
    world->post<wire::BeginStep>(executor_id, [](wire::BeginStep::Builder begin) {
      begin.setStep(1);
      begin.initMicrobatches(2);
    });
    std::uint32_t number = 0;
    for (const char* action : {"1F0", "1B0", "1F1", "1B1"}) announce(1, number++, action);
    for (std::uint32_t microbatch : {0, 1}) {
      ready<wire::ActivationReady>(1, microbatch, {Role::probe, 10 + microbatch});
      ready<wire::GradientReady>(1, microbatch, {Role::probe, 20 + microbatch});
    }

    world->run();

    ASSERT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0", "1B0", "1F1", "1B1"))
        << "seed " << seed;
    ASSERT_EQ(steps_computed(), 1U) << "seed " << seed;
  }
}

TEST_F(StageTest, AFollowerWaitsForItsOwnInputsAndForItsLeader) {
  follows = true;
  script.program = {"1F0", "1B0"};
  play();
  begin(1);
  announce(1, 0, "1F0");
  world->run();
  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2")) << "its activation is not here";

  ready<wire::ActivationReady>(1, 0);
  ready<wire::GradientReady>(1, 0);
  world->run();
  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0")) << "1B0 was not announced";

  announce(1, 1, "1B0");
  world->run();
  EXPECT_EQ(steps_computed(), 1U);
}

TEST_F(StageTest, AFollowerKeepsWhatItsLeaderAnnouncesOfTheNextStep) {
  follows = true;
  script.program = {"1F0"};
  play();
  announce(1, 0, "1F0");
  announce(2, 0, "1F0");
  ready<wire::ActivationReady>(1, 0);
  world->run();
  begin(1);
  EXPECT_EQ(steps_computed(), 1U);
  ready<wire::ActivationReady>(2, 0);
  world->run();
  EXPECT_THAT(script.ran, ElementsAre("prepare", "begin 1 of 2", "1F0"));

  begin(2);

  EXPECT_EQ(steps_computed(), 2U);
}

TEST_F(StageTest, AGapInWhatTheLeaderAnnouncesIsABug) {
  follows = true;
  play();
  announce(1, 0, "1F0");
  announce(1, 2, "1F1");
  world->run();

  const auto failed = world->last<wire::Failed>();
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::BUG);
  EXPECT_NE(std::string(failed->getText()).find("action 2 of step 1"), std::string::npos);
}

// Two real stages in one world: what one decides, both run, whoever gets its inputs first.
TEST_F(StageTest, LeaderAndFollowerRunTheSameOrder) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    script = {.program = {"1F0", "1F1", "1B0", "1B1"}};
    Script follower_script{.program = script.program};
    followers = {5};
    play(seed);
    const ActorId follower{Role::rank_executor, 5};
    RankExecutorOptions options{.rank = 5,
                                .make_worker = worker_of(follower_script, true),
                                .rank_of_stage = {1, 0, 2},
                                .checkpoint_writer = {Role::checkpoint_writer, 0}};
    world->play<RankExecutor>(follower, options);
    for (const ActorId stage : {executor_id, follower}) {
      world->post<wire::BeginStep>(stage, [](wire::BeginStep::Builder begin) {
        begin.setStep(1);
        begin.initMicrobatches(2);
      });
      for (std::uint32_t microbatch : {0, 1}) {
        const auto fill = [&](auto message) {
          message.setStep(1);
          message.setStage(1);
          message.setMicrobatch(microbatch);
          message.setTicket(ticket(microbatch).packed());
        };
        world->post<wire::ActivationReady>(stage, fill, {Role::probe, 10 + microbatch});
        world->post<wire::GradientReady>(stage, fill, {Role::probe, 20 + microbatch});
      }
    }

    world->run();

    ASSERT_EQ(follower_script.ran, script.ran) << "seed " << seed;
    ASSERT_EQ(script.ran.size(), 6U) << "seed " << seed;
    ASSERT_EQ(steps_computed() + world->heard<wire::StepComputed>(ActorId{Role::trainer, 5}).size(), 2U);
  }
}

TEST_F(StageTest, CallsSubscribersAroundWhatTheEventsName) {
  const auto all = std::make_shared<RankEvents>(0, false);
  const auto note = [&](const std::string& name) { script.ran.push_back(name); };
  all->on<events::StepPre>("me", [&](const events::StepPre&) { note("step.pre"); });
  all->on<events::ForwardPre>("me", [&](const events::ForwardPre&) { note("forward.pre"); });
  all->on<events::ForwardPost>("me", [&](const events::ForwardPost&) { note("forward.post"); });
  all->on<events::OptimizerStepPre>("me", [&](const events::OptimizerStepPre&) {
    EXPECT_TRUE(script.applied.empty());
    note("optimizer.pre");
  });
  all->on<events::OptimizerStepPost>("me", [&](const events::OptimizerStepPost&) {
    EXPECT_EQ(script.applied.size(), 1U);
    note("optimizer.post");
  });
  all->on<events::StepPost>(
      "me", [&](const events::StepPost& post) { note(fmt::format("step.post {}", post.loss)); });
  script_events = all;
  script.program = {"1F0"};
  play();

  begin(1);
  ready<wire::ActivationReady>(1, 0);
  world->run();
  world->say<wire::ApplyStep>(executor_id, [](wire::ApplyStep::Builder apply) {
    apply.setStep(1);
    apply.setLoss(2.5);
  });

  EXPECT_THAT(script.ran,
              ElementsAre("prepare", "state may change", "step.pre", "forward.pre", "begin 1 of 2", "1F0",
                          "forward.post", "optimizer.pre", "optimizer.post", "step.post 2.5"));
}

}  // namespace
}  // namespace d9d
