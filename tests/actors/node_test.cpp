// A node's life: spawn the cast, be ready, pass on failures, end once.
#include <gmock/gmock.h>

#include "tests/actors/node_fixture.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(NodeTest, TheFirstNodeMakesTheCoordinatorAndJoinsIt) {
  play_first();

  EXPECT_THAT(spawned(), ElementsAre(coordinator_id));
  const auto join = world.last<wire::Join>(coordinator_id);
  EXPECT_EQ(std::string(join->getBuild()), "1.0");
  EXPECT_EQ(join->getIncarnation(), 77U);
  EXPECT_NE(join.attached(), nullptr) << "how the coordinator learns of its mailbox";
}

TEST_F(NodeTest, ANodeThatOpensAPortSaysWhereItReallyListens) {
  options.opens_port = true;
  play_first();

  EXPECT_EQ(world.last<wire::Join>()->getPort(), 40000);
  EXPECT_THAT(world.bound, ElementsAre("127.0.0.1"));
}

TEST_F(NodeTest, APortInUseEndsTheNodeBeforeAnybodyIsSpawned) {
  options.opens_port = true;
  options.address.listen->port = 29500;
  world.taken_ports = {29500};
  play_first();

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_TRUE(spawned().empty());
  EXPECT_FALSE(world.lives(first_id));
}

TEST_F(NodeTest, WelcomeMakesTheCastOfItsMembership) {
  play_member();

  ASSERT_EQ(cast.size(), 1U);
  EXPECT_EQ(cast[0].resume_step, 4U);
  EXPECT_EQ(cast[0].ranks_per_node, std::vector<int>{1});
  EXPECT_EQ(world.world().epoch, 1U);
  EXPECT_THAT(spawned(), ElementsAre(coordinator_id, trainer_id, executor_id, ActorId{Role::event_bus, 0}));
  EXPECT_EQ(world.spawned[2].threading, Threading::own_thread);
  EXPECT_EQ(world.spawned[2].parent, first_id);
}

TEST_F(NodeTest, ASecondWelcomeIsIgnored) {
  play_member();
  welcome(first_id, 0, 1);

  EXPECT_EQ(cast.size(), 1U);
}

TEST_F(NodeTest, SaysNodeReadyWhenAllOfItsActorsAreReady) {
  play_member();
  ready(trainer_id, 2);
  EXPECT_TRUE(world.heard<wire::NodeReady>().empty());

  ready(executor_id, 3);

  const auto node_ready = world.last<wire::NodeReady>(coordinator_id);
  EXPECT_EQ(node_ready->getNodeIndex(), 0U);
  EXPECT_EQ(node_ready->getEntries(), 5U);
}

TEST_F(NodeTest, ListenersEnterFirstAndTheOthersWhenTheyAreReady) {
  listener = true;
  play_member();
  EXPECT_THAT(spawned(), ElementsAre(coordinator_id, ActorId{Role::user, 0}));

  ready({Role::user, 0});
  EXPECT_THAT(spawned(), ElementsAre(coordinator_id, ActorId{Role::user, 0}, trainer_id));
  EXPECT_TRUE(world.heard<wire::NodeReady>().empty());

  ready(trainer_id);
  EXPECT_EQ(world.heard<wire::NodeReady>().size(), 1U);
}

TEST_F(NodeTest, PassesTheStartToItsTrainersOnly) {
  play_member();
  for (const ActorId child : {trainer_id, executor_id}) ready(child);
  world.say<wire::StartTraining>(
      first_id, [](wire::StartTraining::Builder start) { start.setFirstStep(5); }, coordinator_id);

  const auto starts = world.heard<wire::StartTraining>(trainer_id);
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0]->getFirstStep(), 5U);
  EXPECT_TRUE(world.heard<wire::StartTraining>(executor_id).empty());
}

TEST_F(NodeTest, ForwardsFailuresToTheCoordinator) {
  play_member();
  world.say<wire::Failed>(
      first_id,
      [](wire::Failed::Builder failed) {
        failed.setKind(wire::Failed::Kind::ENVIRONMENT);
        failed.setText("boom");
        failed.setActor("rank_executor/0");
        failed.setRank(0);
        failed.setStep(7);
        failed.setMessage("BeginStep");
      },
      executor_id);

  const auto failed = world.last<wire::Failed>(coordinator_id);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::ENVIRONMENT);
  EXPECT_EQ(std::string(failed->getText()), "boom");
  EXPECT_EQ(failed->getStep(), 7U);
  EXPECT_EQ(std::string(failed->getMessage()), "BeginStep");
  EXPECT_TRUE(exits.empty()) << "the coordinator decides";
}

TEST_F(NodeTest, ACastThatCannotBeMadeIsToldToTheCoordinator) {
  cast_failure = "no such model";
  play_member();

  const auto failed = world.last<wire::Failed>(coordinator_id);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_EQ(std::string(failed->getText()), "no such model");
}

TEST_F(NodeTest, StopsItsChildrenInReverseAndEndsOnce) {
  play_member();
  world.forget();
  stop_node(false);
  stop_node(true);

  std::vector<ActorId> stopped;
  for (const auto& stop : world.heard<wire::Stop>()) stopped.push_back(stop.to());
  EXPECT_THAT(stopped, ElementsAre(ActorId{Role::event_bus, 0}, executor_id, trainer_id, coordinator_id));
  EXPECT_THAT(exits, ElementsAre(0));
  EXPECT_TRUE(aborted.empty());
  EXPECT_FALSE(world.lives(first_id));
}

// Own actors hear the last events before they stop: the EventBus passes it on behind those.
TEST_F(NodeTest, LeavesOwnActorsToTheEventBusUnlessItIsGone) {
  listener = true;
  play_member();
  ready({Role::user, 0});
  stop_node(false);
  EXPECT_TRUE(world.heard<wire::Stop>(ActorId{Role::user, 0}).empty());
}

TEST_F(NodeTest, StopsOwnActorsWhereTheEventBusHasFailed) {
  listener = true;
  play_member();
  fails_by_input({Role::event_bus, 0});
  stop_node(true);
  EXPECT_EQ(world.heard<wire::Stop>(ActorId{Role::user, 0}).size(), 1U);
}

TEST_F(NodeTest, AFailedJobWakesTheCollectivesBeforeAnythingElse) {
  play_member();
  stop_node(true);

  EXPECT_THAT(aborted, ElementsAre("why"));
  EXPECT_THAT(exits, ElementsAre(1));
}

TEST_F(NodeTest, AnErrorOfTheInputHasItsOwnExitCode) {
  play_member();
  stop_node(true, true);

  EXPECT_THAT(exits, ElementsAre(2));
}

TEST_F(NodeTest, TheLossOfTheFirstNodeEndsTheOthers) {
  play_joining();
  welcome(stranger_id, 1, 2);
  world.say<wire::PeerDown>(
      stranger_id, [](wire::PeerDown::Builder down) { down.setReason("disconnected"); }, stranger_id);

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted.at(0), HasSubstr("node 0 is gone: it disconnected. The job is over here"));
}

TEST_F(NodeTest, ACoordinatorThatFailsIsReportedAndEndsTheNode) {
  play_first();
  ::testing::internal::CaptureStderr();
  world.say<wire::Failed>(
      first_id,
      [](wire::Failed::Builder failed) {
        failed.setKind(wire::Failed::Kind::ENVIRONMENT);
        failed.setText("the checkpoints are unreadable");
      },
      coordinator_id);
  const std::string printed = ::testing::internal::GetCapturedStderr();

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(printed, HasSubstr("the checkpoints are unreadable"));
}

TEST_F(NodeTest, ACoordinatorThatFailsBeforeTrainingByTheInputHasTheInputsExitCode) {
  play_first();
  fails_by_input(coordinator_id);

  EXPECT_THAT(exits, ElementsAre(2));
}

TEST_F(NodeTest, ACastThatThrowsWhateverItLikesIsToldToTheCoordinatorToo) {
  options.cast = [](const Membership&) -> std::vector<CastMember> { throw std::runtime_error("a bad day"); };
  play_member();
  EXPECT_EQ(std::string(world.last<wire::Failed>(coordinator_id)->getText()), "a bad day");
  EXPECT_TRUE(world.lives(first_id));
}

TEST_F(NodeTest, ACastThatIsNotReadyInTimeNamesTheActorsThatItWaitsFor) {
  options.init_timeout = std::chrono::seconds(20);
  listener = true;
  world.world().activities.label({Role::user, 0}, "guard");
  play_member();
  world.after(std::chrono::seconds(19));
  EXPECT_TRUE(world.heard<wire::Failed>().empty());

  world.after(std::chrono::seconds(1));

  const auto failed = world.last<wire::Failed>(coordinator_id);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::ENVIRONMENT);
  EXPECT_THAT(std::string(failed->getText()),
              HasSubstr("node 0 is not ready after 20 s (trainer.timeout.init_timeout); it waits for user/0 "
                        "(guard)"));
}

TEST_F(NodeTest, ACastThatIsReadyHasNoDeadline) {
  options.init_timeout = std::chrono::seconds(20);
  play_member();
  ready(trainer_id);
  ready(executor_id);

  world.after(std::chrono::seconds(60));

  EXPECT_TRUE(world.heard<wire::Failed>().empty());
}

}  // namespace
}  // namespace d9d::test
