// How a node joins a job and meets the others.
#include <gmock/gmock.h>

#include "tests/actors/node_fixture.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(NodeTest, AJoiningNodeKnowsTheSecretOfMembersBeforeItDialsThem) {
  play_joining();
  EXPECT_TRUE(memberships.empty());
  const std::size_t dials_before = world.dials.size();

  welcome(stranger_id, 2, 3);

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

TEST_F(NodeTest, ANodeAnswersToItsIndexOnceItKnowsIt) {
  play_joining();
  welcome(stranger_id, 1, 2);

  world.say<wire::StopNode>(
      {Role::node, 1}, [](wire::StopNode::Builder stop) { stop.setFailed(false); }, coordinator_id);

  EXPECT_THAT(exits, ElementsAre(0));
}

// Both of a pair must not dial: when they do it at once, either may close the connection that the other keeps.
TEST_F(NodeTest, ANodeDialsThoseBeforeItAndGreetsThem) {
  play_joining();
  welcome(stranger_id, 2, 4);
  ASSERT_EQ(world.dials.size(), 2U) << "node 0 to join, then node 1; node 3 dials this one";
  EXPECT_EQ(world.dials[1].host, "host-1");
  EXPECT_EQ(world.dials[1].port, 1001);
  EXPECT_TRUE(world.heard<wire::Greeting>().empty());

  dialed(stranger_id, 1, true);

  const auto greeting = world.last<wire::Greeting>({{Role::node, 1}});
  EXPECT_EQ(greeting->getNodeIndex(), 2U);
  EXPECT_NE(greeting.attached(), nullptr) << "how node 1 answers";
}

TEST_F(NodeTest, AConnectionBetweenTwoNodesThatEndsAloneIsToldToTheCoordinator) {
  play_joining();
  welcome(stranger_id, 2, 4);
  dialed(stranger_id, 1, true);
  greeting(3);
  EXPECT_THAT(world.watched, ElementsAre(0, 1, 3));

  world.say<wire::PeerDown>(
      stranger_id,
      [](wire::PeerDown::Builder down) {
        down.setNodeIndex(3);
        down.setReason("disconnected");
      },
      stranger_id);
  world.after(std::chrono::seconds(4));
  EXPECT_TRUE(world.heard<wire::Failed>().empty()) << "its process may be gone, which the Coordinator tells";
  world.after(std::chrono::seconds(2));

  EXPECT_EQ(
      std::string(world.last<wire::Failed>(coordinator_id)->getText()),
      "node 2 has lost its connection with node 3 at host-3:1003, which disconnected; node 0 still has both");
}

TEST_F(NodeTest, TheCastWaitsUntilEveryOtherNodeIsConnected) {
  play_joining();
  welcome(stranger_id, 2, 5);
  dialed(stranger_id, 1, true);
  greeting(4);
  EXPECT_TRUE(cast.empty());

  greeting(3);
  greeting(3);

  EXPECT_EQ(cast.size(), 1U);
}

TEST_F(NodeTest, APeerThatCannotBeReachedIsNamedWithItsOwnAddress) {
  play_joining();
  welcome(stranger_id, 2, 4);
  dialed(stranger_id, 1, false);
  EXPECT_TRUE(world.heard<wire::Failed>().empty()) << "its name may not be known yet";
  world.after(std::chrono::seconds(61));

  EXPECT_THAT(
      std::string(world.last<wire::Failed>(coordinator_id)->getText()),
      AllOf(HasSubstr("node 2 has no connection with node 1 at host-1:1001 (connection refused), node 3 at "
                      "host-3:1003 (it has not reached this node; its log says why) after 60 s"),
            HasSubstr("node.advertise")));
}

TEST_F(NodeTest, ARefusedNodeEndsWithTheReason) {
  play_joining();
  world.say<wire::Refused>(
      stranger_id, [](wire::Refused::Builder refused) { refused.setReason("another build"); },
      coordinator_id);

  EXPECT_THAT(exits, ElementsAre(1));
  EXPECT_THAT(aborted.at(0), HasSubstr("node 0 refused this node: another build"));
}

}  // namespace
}  // namespace d9d::test
