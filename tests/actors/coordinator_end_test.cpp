// What a job leaves at its end: the export, the traces, the last word on checkpoints.
#include "tests/actors/coordinator_fixture.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace test;

TEST_F(CoordinatorTest, ExportsThenFlushesTracesThenStops) {
  options.export_to = "out";
  options.trace = true;
  form();
  save(3);
  finish_all();
  EXPECT_EQ(std::string(world.last<wire::ExportModel>()->getCheckpoint()), "save-3");
  EXPECT_TRUE(world.heard<wire::FlushTrace>().empty());

  world.say<wire::ModelExported>(coordinator_id);
  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "train.exported");
  const auto flushes = world.heard<wire::FlushTrace>();
  ASSERT_EQ(flushes.size(), 2U);
  EXPECT_EQ(flushes[1].to(), (ActorId{Role::trace_collector, 1}));
  EXPECT_TRUE(stops().empty());

  world.say<wire::TraceWritten>(coordinator_id);
  EXPECT_EQ(stops().size(), 1U);
  EXPECT_FALSE(stops()[0]->getFailed());
}

class OwnActorsAtTheEnd : public CoordinatorTest {
 protected:
  OwnActorsAtTheEnd() {
    options.own_actors = 2;
    form();
    for (const int rank : {0, 1, 2}) finish(rank);
  }
  void heard(std::uint32_t actor) {
    world.say<wire::EventsHeard>(coordinator_id,
                                 [&](wire::EventsHeard::Builder message) { message.setActor(actor); });
  }
  bool flushed() { return !world.heard<wire::FlushTracker>().empty(); }
};

TEST_F(OwnActorsAtTheEnd, HaveHandledTheirEventsBeforeTheNumbersAreClosed) {
  EXPECT_EQ(world.last<wire::FlushEvents>(ActorId{Role::event_bus, 0})->getActors(), 2U);
  heard(1);
  heard(1);
  EXPECT_FALSE(flushed());

  heard(0);

  EXPECT_TRUE(flushed());
  tracker(0);
  EXPECT_FALSE(stops().at(0)->getFailed());
}

TEST_F(OwnActorsAtTheEnd, DoNotHoldTheJobForEver) {
  heard(1);
  world.after(std::chrono::seconds(11));

  EXPECT_TRUE(flushed());
  heard(0);
  EXPECT_EQ(world.heard<wire::FlushTracker>().size(), 1U) << "too late has no effect";
}

TEST_F(CoordinatorTest, ExportsTheResumedCheckpointWhenThereWasNothingToTrain) {
  options.export_to = "out";
  resume = {.directory = "save-9", .step = 9};
  form();
  finish_all();

  EXPECT_EQ(std::string(world.last<wire::ExportModel>()->getCheckpoint()), "save-9");
}

TEST_F(CoordinatorTest, AnExportWithoutAnyCheckpointFailsTheJob) {
  options.export_to = "out";
  form();
  finish_all();

  EXPECT_TRUE(stops().at(0)->getFailed());
  EXPECT_THAT(std::string(stops()[0]->getReason()), HasSubstr("no checkpoint was committed"));
}

TEST_F(CoordinatorTest, AFailedExportFailsTheJob) {
  options.export_to = "out";
  form();
  save(3);
  finish_all();
  world.say<wire::ModelExported>(
      coordinator_id, [](wire::ModelExported::Builder exported) { exported.setFailure("disk full"); });

  EXPECT_EQ(std::string(stops().at(0)->getReason()), "export to out failed: disk full");
}

class SharedExport : public CoordinatorTest {
 protected:
  SharedExport() {
    options.export_to = "out";
    options.begin_export = [this] {
      if (disk_full) throw Error(ErrorKind::environment, "no space left on device");
      return "out/staging";
    };
    options.publish_export = [this] { ended.push_back("published"); };
    options.discard_export = [this] { ended.push_back("discarded"); };
    form();
    save(3);
  }
  void exported(std::uint32_t share, const std::string& failure = "", bool unseen = false) {
    world.say<wire::ModelExported>(coordinator_id, [&](wire::ModelExported::Builder message) {
      message.setShare(share);
      message.setFailure(failure);
      message.setUnseen(unseen);
    });
  }
  std::vector<std::string> ended;
};

TEST_F(SharedExport, IsWrittenByAllNodesAndPublishedOnce) {
  finish_all();
  const auto told = world.heard<wire::ExportModel>();
  ASSERT_EQ(told.size(), 2U);
  for (std::uint32_t node = 0; node < 2; ++node) {
    EXPECT_EQ(told[node].to(), (ActorId{Role::checkpoint_writer, node}));
    EXPECT_EQ(std::string(told[node]->getTarget()), "out/staging");
    EXPECT_EQ(told[node]->getShare(), node);
    EXPECT_EQ(told[node]->getShares(), 2U);
  }

  exported(1);
  exported(1);
  EXPECT_TRUE(ended.empty());
  exported(0);

  EXPECT_EQ(ended, std::vector<std::string>{"published"});
  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "train.exported");
}

TEST_F(SharedExport, NodeZeroWritesTheShareOfANodeThatDoesNotSeeTheFolder) {
  finish_all();
  exported(0);
  exported(1, "", true);
  EXPECT_TRUE(ended.empty());
  const auto again = world.heard<wire::ExportModel>().back();
  EXPECT_EQ(again.to(), (ActorId{Role::checkpoint_writer, 0}));
  EXPECT_EQ(again->getShare(), 1U);

  exported(1);

  EXPECT_EQ(ended, std::vector<std::string>{"published"});
}

TEST_F(SharedExport, OfWhichAShareFailsIsDiscardedWhenAllHaveEnded) {
  finish_all();
  exported(1, "disk full");
  EXPECT_TRUE(stops().empty()) << "another node still writes into the folder";
  exported(0);

  EXPECT_EQ(ended, std::vector<std::string>{"discarded"});
  EXPECT_EQ(std::string(stops().at(0)->getReason()), "export to out failed: disk full");
}

TEST_F(SharedExport, WithoutItsFolderFailsTheJob) {
  disk_full = true;
  finish_all();

  EXPECT_EQ(std::string(stops().at(0)->getReason()), "export to out failed: no space left on device");
  EXPECT_TRUE(world.heard<wire::ExportModel>().empty());
}

TEST_F(CoordinatorTest, AnExportThatDoesNotEndInTimeFailsTheJobAndSaysWhereTheModelIs) {
  options.export_to = "out";
  options.export_timeout = std::chrono::minutes(20);
  form();
  save(3);
  finish_all();
  world.after(std::chrono::minutes(19));
  EXPECT_TRUE(stops().empty());

  world.after(std::chrono::minutes(1));

  EXPECT_TRUE(stops().at(0)->getFailed());
  EXPECT_THAT(std::string(stops()[0]->getReason()),
              AllOf(HasSubstr("the export to out did not end within 1200 s (trainer.timeout.export_timeout)"),
                    HasSubstr("d9d-node export save-3 out")));
}

TEST_F(CoordinatorTest, TheDeadlineOfAnExportThatEndedRingsInVain) {
  options.export_to = "out";
  options.trace = true;
  form();
  save(3);
  finish_all();
  world.say<wire::ModelExported>(coordinator_id);
  world.say<wire::TraceWritten>(coordinator_id);

  world.after(std::chrono::hours(2));

  ASSERT_EQ(stops().size(), 2U) << "the other node's, then node 0's own";
  for (const auto& stop : stops()) EXPECT_FALSE(stop->getFailed());
}

TEST_F(CoordinatorTest, AnExportThatEndsAfterItsDeadlineChangesNothing) {
  options.export_to = "out";
  options.trace = true;
  form();
  save(3);
  finish_all();
  world.after(std::chrono::hours(2));
  ASSERT_TRUE(stops().at(0)->getFailed());
  const std::size_t told = stops().size(), flushes = world.heard<wire::FlushTrace>().size();

  world.say<wire::ModelExported>(coordinator_id);

  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "job.failed");
  EXPECT_EQ(world.heard<wire::FlushTrace>().size(), flushes);
  world.after(std::chrono::minutes(1));
  EXPECT_EQ(stops().size(), told);
}

TEST_F(CoordinatorTest, ADeadlineOrAnAnswerOfTheLastMetricsAfterTheEndStartsNoExport) {
  options.export_to = "out";
  form();
  save(3);
  for (const int rank : {0, 1, 2}) finish(rank);
  gone(1);
  ASSERT_TRUE(stops().at(0)->getFailed());

  world.after(std::chrono::seconds(20));
  tracker(10);

  EXPECT_TRUE(world.heard<wire::ExportModel>().empty());
}

TEST_F(CoordinatorTest, ATraceThatNeverComesDoesNotKeepTheJobFromEnding) {
  options.trace = true;
  form();
  finish_all();
  world.after(std::chrono::seconds(20));

  ASSERT_EQ(stops().size(), 1U);
  EXPECT_FALSE(stops()[0]->getFailed());
}

TEST_F(CoordinatorTest, AStartThatFoundNothingToTrainWritesNoTrace) {
  options.trace = true;
  resume = {.directory = "save-10", .step = 10};
  form();
  finish_all();

  EXPECT_TRUE(world.heard<wire::FlushTrace>().empty());
  EXPECT_FALSE(stops().at(0)->getFailed());
}

TEST_F(CoordinatorTest, AFailedJobAsksTheNodesThatAreLeftForItsTraceBeforeItEnds) {
  options.trace = true;
  form();
  gone(1);

  const auto flushes = world.heard<wire::FlushTrace>();
  ASSERT_EQ(flushes.size(), 1U);
  EXPECT_EQ(flushes[0].to(), (ActorId{Role::trace_collector, 0}));
  EXPECT_EQ(flushes[0]->getNodes(), 1U);
  EXPECT_GT(flushes[0]->getDeadlineMs(), 0U);
  EXPECT_TRUE(stops().empty()) << "node 0 has to write it first";

  world.say<wire::TraceWritten>(coordinator_id);
  ASSERT_EQ(stops().size(), 1U);
  EXPECT_TRUE(stops()[0]->getFailed());
}

TEST_F(CoordinatorTest, AFailedJobEndsInTimeWhenItsTraceDoesNotCome) {
  options.trace = true;
  form();
  gone(1);
  world.after(std::chrono::seconds(5));

  ASSERT_EQ(stops().size(), 1U);
}

TEST_F(CoordinatorTest, AJobThatFailsBeforeItTrainsHasNoTraceToRescue) {
  options.trace = true;
  play();
  join(100, 2);
  join(101, 1);
  gone(1);

  EXPECT_TRUE(world.heard<wire::FlushTrace>().empty());
}

TEST_F(CoordinatorTest, SpeaksOfACheckpointOnlyWhereThereIsOne) {
  form();
  gone(1);
  EXPECT_THAT(std::string(stops().back()->getReason()), HasSubstr("No checkpoint was committed"));
}

TEST_F(CoordinatorTest, SaysThatTheLastCheckpointIsIntact) {
  form();
  save(5);
  gone(1);
  EXPECT_THAT(std::string(stops().back()->getReason()),
              HasSubstr("Start the job again: it goes on from save-"));
}

}  // namespace
}  // namespace d9d
