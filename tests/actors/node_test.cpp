// A node's life: join, spawn the cast, be ready, pass on failures, end once.
#include "actors/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ActorId first_id{Role::node, 0};
constexpr ActorId stranger_id{Role::node, 77};  // before it knows its index
constexpr ActorId coordinator_id{Role::coordinator, 0};
constexpr ActorId trainer_id{Role::trainer, 0};
constexpr ActorId executor_id{Role::rank_executor, 0};

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    options.coordinator = {coordinator_id, Threading::own_thread, {}};
    options.join = {"boss", 29500};
    options.address.listen = HostPort{"127.0.0.1", 0};
    options.join_timeout = std::chrono::seconds(60);
    options.ranks = 1;
    options.build = "1.0";
    options.job_hash = "abc";
    options.enter_membership = [this](const std::string& secret) { memberships.push_back(secret); };
    options.incarnation = 77;
    options.cast = [this](const Membership& membership) {
      if (!cast_failure.empty()) throw Error(ErrorKind::input, cast_failure);
      cast.push_back(membership);
      if (listener) {
        return std::vector<CastMember>{{trainer_id, Threading::pool, {}, true},
                                       {{Role::user, 0}, Threading::pool, {}, true, true}};
      }
      return std::vector<CastMember>{{trainer_id, Threading::pool, {}, true},
                                     {executor_id, Threading::own_thread, {}, true},
                                     {{Role::event_bus, 0}, Threading::pool, {}, false}};
    };
    options.node_of = [] { return [](ActorId) { return 0; }; };
    options.abort_collectives = [this](const std::string& reason) { aborted.push_back(reason); };
    options.on_end = [this](int exit_code) { exits.push_back(exit_code); };
    world.world().book.enter_node(0, world.ear());
  }
  void play_first() { world.play<Node>(first_id, options); }
  void play_member() {
    play_first();
    welcome(first_id, 0, 1);
  }
  void fails_by_input(ActorId actor) {
    world.say<wire::Failed>(
        first_id, [](wire::Failed::Builder failed) { failed.setKind(wire::Failed::Kind::INPUT); }, actor);
  }
  void play_joining() {
    become_joining();
    world.play<Node>(stranger_id, options);
    dialed(stranger_id, 0, true);
  }
  void become_joining() {
    options.first = false;
    options.opens_port = true;
    options.address.listen.reset();
    options.address.insecure = true;
  }
  void dialed(ActorId node, std::uint32_t index, bool ok) {
    world.say<wire::Dialed>(
        node,
        [&](wire::Dialed::Builder dialed) {
          dialed.setNodeIndex(index);
          dialed.setOk(ok);
          dialed.setReason(ok ? "" : "connection refused");
          dialed.setOwnHost(ok ? "10.0.0.9" : "");
        },
        node, ok ? world.ear() : nullptr);
  }
  void welcome(ActorId to, std::uint32_t index, unsigned nodes, bool first_has_host = true) {
    world.say<wire::Welcome>(
        to,
        [&](wire::Welcome::Builder welcome) {
          welcome.setEpoch(1);
          welcome.setNodeIndex(index);
          welcome.setResumeStep(4);
          welcome.setSecret("of members");
          auto list = welcome.initNodes(nodes);
          for (unsigned i = 0; i < nodes; ++i) {
            if (i > 0 || first_has_host) list[i].setHost("host-" + std::to_string(i));
            list[i].setPort(static_cast<std::uint16_t>(1000 + i));
            list[i].setRanks(1);
          }
        },
        coordinator_id);
  }
  void ready(ActorId from, std::uint64_t entries = 0) {
    world.say<wire::Ready>(
        first_id, [&](wire::Ready::Builder ready) { ready.setEntries(entries); }, from);
  }
  void stop_node(bool failed, bool input_error = false) {
    world.say<wire::StopNode>(
        first_id,
        [&](wire::StopNode::Builder stop) {
          stop.setFailed(failed);
          stop.setInputError(input_error);
          stop.setReason("why");
        },
        coordinator_id);
  }
  std::vector<ActorId> spawned() {
    std::vector<ActorId> ids;
    for (const auto& child : world.spawned) ids.push_back(child.id);
    return ids;
  }

  NodeOptions options;
  std::string cast_failure;
  bool listener = false;  // the cast has a user's actor, which goes first
  std::vector<Membership> cast;
  std::vector<std::string> memberships;
  std::vector<std::string> aborted;
  std::vector<int> exits;
  ActorWorld world;
};

TEST_F(NodeTest, TheFirstNodeMakesTheCoordinatorAndJoinsIt) {
  play_first();

  EXPECT_THAT(spawned(), ElementsAre(coordinator_id));
  const auto join = world.last<wire::Join>(coordinator_id);
  EXPECT_EQ(std::string(join->getBuild()), "1.0");
  EXPECT_EQ(join->getIncarnation(), 77U);
  EXPECT_NE(join.attached(), nullptr) << "how the coordinator learns of its mailbox";
}

TEST_F(NodeTest, AJoiningNodeKnowsTheSecretOfMembersBeforeItDialsThem) {
  play_joining();
  EXPECT_TRUE(memberships.empty());
  const std::size_t dials_before = world.dials.size();

  welcome(stranger_id, 1, 3);

  EXPECT_THAT(memberships, ElementsAre("of members"));
  EXPECT_EQ(world.dials.size(), dials_before + 1);
}

TEST_F(NodeTest, AJoiningNodeThatIsAStrangerThereEndsAtOnce) {
  become_joining();
  world.play<Node>(stranger_id, options);
  world.say<wire::Dialed>(
      stranger_id,
      [](wire::Dialed::Builder dialed) {
        dialed.setReason("the job token (node.job_token) differs");
        dialed.setStranger(true);
      },
      stranger_id);

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted, ElementsAre("node 0 refused this node: the job token (node.job_token) differs"));
}

TEST_F(NodeTest, ARefusalThatComesWhenTheJobHasFormedChangesNothing) {
  play_joining();
  welcome(stranger_id, 1, 2);

  world.say<wire::Refused>(stranger_id, coordinator_id);

  EXPECT_TRUE(exits.empty());
}

TEST_F(NodeTest, ANodeThatOpensAPortSaysWhereItReallyListens) {
  options.opens_port = true;
  play_first();

  EXPECT_EQ(world.last<wire::Join>()->getPort(), 40000);
  EXPECT_THAT(world.bound, ElementsAre("127.0.0.1"));
}

TEST_F(NodeTest, AJoiningNodeListensOnItsWayToTheFirstOneAndSaysSo) {
  play_joining();

  EXPECT_THAT(world.bound, ElementsAre("10.0.0.9"));
  EXPECT_EQ(std::string(world.last<wire::Join>()->getHost()), "10.0.0.9");
  EXPECT_EQ(world.last<wire::Join>()->getPort(), 40000);
}

TEST_F(NodeTest, AJoiningNodeWhoseWayNothingProtectsEndsWithTheInputsExitCode) {
  become_joining();
  options.address.insecure = false;
  world.play<Node>(stranger_id, options);
  dialed(stranger_id, 0, true);

  EXPECT_THAT(exits, ElementsAre(2));
  EXPECT_THAT(aborted.at(0), HasSubstr("10.0.0.9"));
  EXPECT_TRUE(world.heard<wire::Join>().empty());
}

TEST_F(NodeTest, KnowsTheFirstNodeByTheAddressItDialled) {
  play_joining();
  welcome(stranger_id, 1, 2, false);

  EXPECT_THAT(cast.at(0).addresses, ElementsAre(HostPort{"boss", 29500}, HostPort{"host-1", 1001}));
}

TEST_F(NodeTest, KnowsTheFirstNodeByTheAddressThatItAdvertises) {
  play_joining();
  welcome(stranger_id, 1, 2);

  EXPECT_THAT(cast.at(0).addresses, ElementsAre(HostPort{"host-0", 1000}, HostPort{"host-1", 1001}));
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

TEST_F(NodeTest, AJoiningNodeDialsAgainUntilTheFirstOneIsThere) {
  become_joining();
  world.play<Node>(stranger_id, options);
  dialed(stranger_id, 0, false);
  EXPECT_EQ(world.dials.size(), 1U);

  world.after(std::chrono::milliseconds(200));
  EXPECT_EQ(world.dials.size(), 2U);
  EXPECT_EQ(world.dials[1].host, "boss");
  EXPECT_EQ(world.dials[1].port, 29500);
  dialed(stranger_id, 0, true);

  EXPECT_EQ(world.heard<wire::Join>(coordinator_id).size(), 1U);
  EXPECT_THAT(world.watched, ElementsAre(0));
}

TEST_F(NodeTest, AJoiningNodeGivesUpAfterItsTimeoutAndSaysWhatToTry) {
  become_joining();
  world.play<Node>(stranger_id, options);
  dialed(stranger_id, 0, false);
  world.after(std::chrono::seconds(59));
  EXPECT_TRUE(exits.empty());
  world.after(std::chrono::seconds(2));

  EXPECT_THAT(exits, ElementsAre(1));
  ASSERT_EQ(aborted.size(), 1U);
  EXPECT_THAT(aborted[0], HasSubstr("cannot reach node 0 at boss:29500"));
  EXPECT_THAT(aborted[0], HasSubstr("connection refused"));
}

TEST_F(NodeTest, AJoiningNodeGivesUpWhileADialIsStillUnanswered) {
  become_joining();
  world.play<Node>(stranger_id, options);
  world.after(std::chrono::seconds(61));

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted.at(0), AllOf(HasSubstr("cannot reach node 0 at boss:29500"),
                                   HasSubstr("does not answer"), HasSubstr("after 60 s")));
}

TEST_F(NodeTest, AJobThatDoesNotStartEndsTheNodesThatJoinedIt) {
  play_joining();
  world.after(std::chrono::seconds(60));
  EXPECT_TRUE(exits.empty()) << "node 0 has the first word";
  world.after(std::chrono::seconds(11));

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted.at(0), HasSubstr("the job did not start within 60 s"));
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

TEST_F(NodeTest, ANodeAnswersToItsIndexOnceItKnowsIt) {
  play_joining();
  welcome(stranger_id, 1, 2);

  world.say<wire::StopNode>(
      {Role::node, 1}, [](wire::StopNode::Builder stop) { stop.setFailed(false); }, coordinator_id);

  EXPECT_THAT(exits, ElementsAre(0));
}

TEST_F(NodeTest, TheCastWaitsUntilEveryOtherNodeIsConnected) {
  play_joining();
  welcome(stranger_id, 1, 4);
  ASSERT_EQ(world.dials.size(), 3U) << "node 0 first, then 2 and 3";
  EXPECT_EQ(world.dials[2].host, "host-3");
  EXPECT_EQ(world.dials[2].port, 1003);
  dialed(stranger_id, 3, true);
  EXPECT_TRUE(cast.empty());

  dialed(stranger_id, 2, true);

  EXPECT_EQ(cast.size(), 1U);
}

TEST_F(NodeTest, APeerThatCannotBeReachedIsNamedWithItsOwnAddress) {
  play_joining();
  welcome(stranger_id, 1, 3);
  dialed(stranger_id, 2, false);
  EXPECT_TRUE(world.heard<wire::Failed>().empty()) << "its name may not be known yet";
  world.after(std::chrono::seconds(61));

  EXPECT_THAT(std::string(world.last<wire::Failed>(coordinator_id)->getText()),
              AllOf(HasSubstr("node 1 cannot reach node 2 at host-2:1002 (connection refused) after 60 s"),
                    HasSubstr("node.advertise")));
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

TEST_F(NodeTest, ForwardsFailuresAndTheEndOfARankToTheCoordinator) {
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
  world.say<wire::RankFinished>(
      first_id, [](wire::RankFinished::Builder finished) { finished.setStep(9); }, trainer_id);

  const auto failed = world.last<wire::Failed>(coordinator_id);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::ENVIRONMENT);
  EXPECT_EQ(std::string(failed->getText()), "boom");
  EXPECT_EQ(failed->getStep(), 7U);
  EXPECT_EQ(std::string(failed->getMessage()), "BeginStep");
  EXPECT_EQ(world.last<wire::RankFinished>(coordinator_id)->getStep(), 9U);
  EXPECT_TRUE(exits.empty()) << "the coordinator decides";
}

TEST_F(NodeTest, ACastThatCannotBeMadeIsToldToTheCoordinator) {
  cast_failure = "no such model";
  play_member();

  const auto failed = world.last<wire::Failed>(coordinator_id);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_EQ(std::string(failed->getText()), "no such model");
}

TEST_F(NodeTest, ARefusedNodeEndsWithTheReason) {
  play_joining();
  world.say<wire::Refused>(
      stranger_id, [](wire::Refused::Builder refused) { refused.setReason("another build"); },
      coordinator_id);

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted.at(0), HasSubstr("node 0 refused this node: another build"));
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

}  // namespace
}  // namespace d9d
