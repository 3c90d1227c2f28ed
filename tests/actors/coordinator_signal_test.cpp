// How a job ends when a signal asked for it.
#include <csignal>

#include "tests/actors/coordinator_fixture.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;
using namespace test;

constexpr std::uint32_t exit_of_sigterm = 143;

class CoordinatorSignalTest : public CoordinatorTest {
 protected:
  void signalled(int signal, bool now = false, std::uint32_t node = 1) {
    world.say<wire::Signalled>(coordinator_id,
                               [&](wire::Signalled::Builder message) {
                                 message.setSignal(static_cast<std::uint32_t>(signal));
                                 message.setNow(now);
                                 message.setNodeIndex(node);
                               },
                               {Role::node, node});
  }
  void finish_all_by(int signal, std::uint64_t step) {
    for (const int rank : {0, 1, 2}) {
      world.say<wire::RankFinished>(coordinator_id, [&](wire::RankFinished::Builder message) {
        message.setRank(rank);
        message.setStep(step);
        message.setSignal(static_cast<std::uint32_t>(signal));
      });
    }
    tracker(step);
  }
};

TEST_F(CoordinatorSignalTest, InTrainingItWaitsForTheRanksAndEndsAllNodesWithTheSignalsCode) {
  form();
  signalled(SIGTERM, false, 0);
  signalled(SIGTERM, false, 1);
  EXPECT_TRUE(stops().empty()) << "the same signal at two nodes is one";

  save(7);
  finish_all_by(SIGTERM, 7);
  gone(1);

  ASSERT_EQ(stops().size(), 2U);
  for (const auto& stop : stops()) {
    EXPECT_EQ(stop->getExitCode(), exit_of_sigterm);
    EXPECT_FALSE(stop->getFailed()) << "an orderly end";
    EXPECT_THAT(std::string(stop->getReason()), HasSubstr("stopped by SIGTERM after step 7"));
    EXPECT_THAT(std::string(stop->getReason()), HasSubstr("go on from save-7"));
  }
}

TEST_F(CoordinatorSignalTest, RanksThatStoppedSayItAloneWhenTheirNodesNewsIsLate) {
  form();
  finish_all_by(SIGINT, 3);
  gone(1);

  EXPECT_EQ(stops().back()->getExitCode(), 130U);
}

TEST_F(CoordinatorSignalTest, AJobThatIsStoppedIsNotExported) {
  options.export_to = "out";
  form();
  save(7);
  finish_all_by(SIGTERM, 7);

  EXPECT_TRUE(world.heard<wire::ExportModel>().empty());
}

TEST_F(CoordinatorSignalTest, AnExportThatIsBeingWrittenIsFinishedFirst) {
  options.export_to = "out";
  form();
  save(9);
  finish_all();
  ASSERT_EQ(world.heard<wire::ExportModel>().size(), 1U);

  signalled(SIGTERM);
  EXPECT_TRUE(stops().empty());
  world.say<wire::ModelExported>(coordinator_id);
  gone(1);

  EXPECT_EQ(stops().back()->getExitCode(), exit_of_sigterm);
}

TEST_F(CoordinatorSignalTest, TracesAreWrittenBeforeTheEnd) {
  options.trace = true;
  form();
  signalled(SIGTERM);
  finish_all_by(SIGTERM, 2);

  EXPECT_EQ(world.heard<wire::FlushTrace>().size(), 2U);
  EXPECT_TRUE(stops().empty());
  world.say<wire::TraceWritten>(coordinator_id);
  EXPECT_FALSE(stops().empty());
}

TEST_F(CoordinatorSignalTest, BeforeTrainingItEndsAtOnceAndTellsWhoHasJoined) {
  play();
  join(100, 1);
  join(101, 1);
  signalled(SIGINT, false, 0);

  ASSERT_FALSE(stops().empty());
  EXPECT_EQ(stops().front()->getExitCode(), 130U);
  EXPECT_EQ(stops().front().to(), (ActorId{Role::node, 101}));
  EXPECT_THAT(std::string(stops().front()->getReason()), HasSubstr("before training began"));
}

TEST_F(CoordinatorSignalTest, ASecondSignalEndsTheJobWithoutTheStep) {
  form();
  signalled(SIGTERM);
  signalled(SIGTERM, true);

  ASSERT_FALSE(stops().empty());
  EXPECT_EQ(stops().front()->getExitCode(), exit_of_sigterm);
  EXPECT_TRUE(stops().front()->getFailed()) << "collectives are aborted";
  world.after(std::chrono::seconds(1));
  EXPECT_EQ(stops().back().to(), ActorWorld::parent_id) << "node 0 does not wait long for the others";
}

TEST_F(CoordinatorSignalTest, ANodeThatLeavesWhileTheJobStopsDoesNotHideTheSignal) {
  form();
  signalled(SIGTERM);
  gone(1);

  ASSERT_FALSE(stops().empty());
  EXPECT_EQ(stops().back()->getExitCode(), exit_of_sigterm);
}

TEST_F(CoordinatorSignalTest, AFailureOfAnActorIsNoOrderlyStop) {
  form();
  signalled(SIGTERM);
  world.say<wire::Failed>(coordinator_id, [](wire::Failed::Builder failed) {
    failed.setKind(wire::Failed::Kind::BUG);
    failed.setText("broken");
    failed.setActor("rank_executor/0");
  });

  EXPECT_EQ(stops().front()->getExitCode(), 0U);
  EXPECT_TRUE(stops().front()->getFailed());
}

}  // namespace
}  // namespace d9d
