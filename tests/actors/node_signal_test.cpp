// What a node makes of the signals of its process.
#include <gmock/gmock.h>

#include <csignal>

#include "actors/node.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ActorId first_id{Role::node, 0};
constexpr ActorId stranger_id{Role::node, 77};  // before it knows its index
constexpr ActorId coordinator_id{Role::coordinator, 0};
constexpr ActorId trainer_id{Role::trainer, 0};
constexpr int exit_of_sigterm = 143;

class NodeSignalTest : public ::testing::Test {
 protected:
  NodeSignalTest() {
    options.coordinator = {coordinator_id, Threading::own_thread, {}};
    options.join = {"boss", 29500};
    options.incarnation = 77;
    options.cast = [](const Membership&) {
      return std::vector<CastMember>{{trainer_id, Threading::pool, {}, true}};
    };
    options.node_of = [] { return [](ActorId) { return 0; }; };
    options.abort_collectives = [this](const std::string& reason) { aborted.push_back(reason); };
    options.on_end = [this](int exit_code) { exits.push_back(exit_code); };
    world.world().book.enter_node(0, world.ear());
  }
  void play_joining() {
    options.first = false;
    world.play<Node>(stranger_id, options);
    world.say<wire::Dialed>(
        stranger_id, [](wire::Dialed::Builder dialed) { dialed.setOk(true); }, stranger_id, world.ear());
  }
  void form(ActorId node, std::uint32_t index) {
    world.say<wire::Welcome>(
        node,
        [&](wire::Welcome::Builder welcome) {
          welcome.setEpoch(1);
          welcome.setNodeIndex(index);
          auto list = welcome.initNodes(2);
          for (unsigned i = 0; i < list.size(); ++i) list[i].setRanks(1);
        },
        coordinator_id);
  }
  void train(ActorId node) {
    world.say<wire::Ready>(node, trainer_id);
    world.say<wire::StartTraining>(node, coordinator_id);
    world.forget();
  }
  void signalled(ActorId node, int signal, bool now = false) {
    world.say<wire::Signalled>(
        node,
        [&](wire::Signalled::Builder message) {
          message.setSignal(static_cast<std::uint32_t>(signal));
          message.setNow(now);
        },
        node);
  }
  std::size_t told(ActorId whom) { return world.heard<wire::Signalled>(whom).size(); }

  NodeOptions options;
  std::vector<std::string> aborted;
  std::vector<int> exits;
  ActorWorld world;
};

TEST_F(NodeSignalTest, InTrainingItsTrainersAndTheCoordinatorLearnOfAStop) {
  world.play<Node>(first_id, options);
  form(first_id, 0);
  train(first_id);
  signalled(first_id, SIGTERM);

  EXPECT_EQ(told(trainer_id), 1U);
  EXPECT_EQ(told(coordinator_id), 1U);
  EXPECT_THAT(exits, IsEmpty()) << "the ranks agree on the step";
  world.after(std::chrono::seconds(100));
  EXPECT_THAT(exits, IsEmpty()) << "the signal's thread keeps the time";
}

TEST_F(NodeSignalTest, ACheckpointIsTheTrainersMatterAlone) {
  world.play<Node>(first_id, options);
  form(first_id, 0);
  train(first_id);
  signalled(first_id, SIGUSR1);

  EXPECT_EQ(told(trainer_id), 1U);
  EXPECT_EQ(told(coordinator_id), 0U);
}

TEST_F(NodeSignalTest, BeforeTrainingThereIsNothingToSave) {
  world.play<Node>(first_id, options);
  form(first_id, 0);
  signalled(first_id, SIGUSR1);

  EXPECT_EQ(told(trainer_id), 0U);
}

TEST_F(NodeSignalTest, AJoinerThatTheJobHasNotTakenInLeavesByItself) {
  play_joining();
  signalled(stranger_id, SIGTERM);

  EXPECT_THAT(exits, ElementsAre(exit_of_sigterm));
}

TEST_F(NodeSignalTest, ACoordinatorThatDoesNotAnswerBeforeTheJobFormsIsNotWaitedFor) {
  world.play<Node>(first_id, options);
  signalled(first_id, SIGINT);
  EXPECT_EQ(told(coordinator_id), 1U);
  EXPECT_THAT(exits, IsEmpty());

  world.after(std::chrono::seconds(1));

  EXPECT_THAT(exits, ElementsAre(130));
}

TEST_F(NodeSignalTest, TheSecondOneTakesAnotherNodeOutAtOnce) {
  play_joining();
  form(stranger_id, 1);
  train(stranger_id);
  signalled(stranger_id, SIGTERM);
  EXPECT_THAT(exits, IsEmpty());
  signalled(stranger_id, SIGTERM, true);

  EXPECT_EQ(told(coordinator_id), 2U);
  EXPECT_THAT(exits, ElementsAre(exit_of_sigterm));
}

TEST_F(NodeSignalTest, AnOrderlyEndBySignalAbortsNoCollective) {
  world.play<Node>(first_id, options);
  form(first_id, 0);
  train(first_id);
  world.say<wire::StopNode>(
      first_id, [](wire::StopNode::Builder stop) { stop.setExitCode(exit_of_sigterm); }, coordinator_id);

  EXPECT_THAT(exits, ElementsAre(exit_of_sigterm));
  EXPECT_THAT(aborted, IsEmpty());
}

}  // namespace
}  // namespace d9d
