// The commit of a checkpoint: all of it or none of it.
#include <nlohmann/json.hpp>

#include "tests/actors/coordinator_fixture.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace test;

TEST_F(CoordinatorTest, CommitsOnlyWhenAllShardsStatesAndTheTrackerAreIn) {
  form();
  for (const int rank : {0, 1, 2}) shard(5, rank);
  state(5, 0);
  state(5, 2);
  tracker(5);
  EXPECT_TRUE(commits.empty());

  state(5, 1);

  ASSERT_EQ(commits.size(), 1U);
  EXPECT_EQ(commits[0].step, 5U);
  EXPECT_EQ(commits[0].next_sample, 40U);
  EXPECT_THAT(commits[0].reports, ElementsAre("report 0", "report 1", "report 2"));
  EXPECT_EQ(commits[0].rank_states.at(2), "state 2");
}

TEST_F(CoordinatorTest, TheTrackerIsAskedOncePerCheckpoint) {
  form();
  for (const int rank : {0, 1, 2}) state(5, rank);

  const auto asked = world.heard<wire::FlushTracker>(ActorId{Role::tracker, 0});
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0]->getStep(), 5U);
}

TEST_F(CoordinatorTest, ACommitIsToldToEveryTrainerAndTheEventBus) {
  form();
  save(5);

  const auto told = world.heard<wire::CheckpointCommitted>();
  ASSERT_EQ(told.size(), 3U);
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(told[rank].to(), (ActorId{Role::trainer, rank}));
    EXPECT_EQ(std::string(told[rank]->getDirectory()), "save-5");
    EXPECT_EQ(told[rank]->getFailure().size(), 0U);
  }
  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "train.checkpoint.committed");
}

TEST_F(CoordinatorTest, AShardThatFailedGivesTheCheckpointUpAndTrainersHearWhy) {
  form();
  shard(5, 0);
  shard(5, 1, "no space left on device");
  shard(5, 2);
  for (const int rank : {0, 1, 2}) state(5, rank);
  tracker(5);

  EXPECT_TRUE(commits.empty());
  EXPECT_THAT(discarded, ElementsAre(5));
  EXPECT_EQ(world.heard<wire::CheckpointCommitted>().size(), 3U);
  EXPECT_EQ(std::string(world.last<wire::CheckpointCommitted>()->getFailure()), "no space left on device");
  EXPECT_EQ(std::string(world.last<wire::Publish>()->getName()), "train.checkpoint.failed");
  EXPECT_TRUE(stops().empty()) << "training goes on";
}

TEST_F(CoordinatorTest, ACommitThatFailsGivesTheCheckpointUpAndTheNextOneCommits) {
  form();
  disk_full = true;
  save(5);
  EXPECT_THAT(discarded, ElementsAre(5));

  disk_full = false;
  save(6);

  ASSERT_EQ(commits.size(), 1U);
  EXPECT_EQ(commits[0].step, 6U);
  EXPECT_EQ(std::string(world.last<wire::CheckpointCommitted>()->getDirectory()), "save-6");
}

TEST_F(CoordinatorTest, ADiskThatIsFullMakesRoomForTheNextCheckpoint) {
  form();
  for (const auto& [step, failure] :
       std::vector<std::pair<int, std::string>>{{5,
                                                 "rank 1: cannot write save-5/x: No space left on device; "
                                                 "free some space or choose another folder"},
                                                {6, "rank 1: cannot write save-6/x: Input/output error"},
                                                {7, "rank 1: cannot write save-7/x: Disk quota exceeded"}}) {
    const auto at = static_cast<std::uint64_t>(step);
    shard(at, 0);
    shard(at, 1, failure);
    shard(at, 2);
    for (const int rank : {0, 1, 2}) state(at, rank);
    tracker(at);
    EXPECT_EQ(rooms_made, step == 7 ? 2 : 1) << failure;
  }
}

TEST_F(CoordinatorTest, AJobWhoseLastCheckpointIsMissingHasFailed) {
  form();
  save(5);
  disk_full = true;
  save(6);
  finish_all();

  ASSERT_FALSE(stops().empty());
  EXPECT_TRUE(stops().back()->getFailed());
  EXPECT_THAT(std::string(stops().back()->getReason()),
              AllOf(HasSubstr("step 6: no space left on device"), HasSubstr("the last one is save-5")));
}

TEST_F(CoordinatorTest, AJobWhoseLaterCheckpointIsThereIsDone) {
  form();
  disk_full = true;
  save(5);
  disk_full = false;
  save(6);
  finish_all();

  ASSERT_FALSE(stops().empty());
  EXPECT_FALSE(stops().back()->getFailed());
}

TEST_F(CoordinatorTest, AnExportUsesTheLastCheckpointThatWasReallyCommitted) {
  options.export_to = "out";
  form();
  save(5);
  disk_full = true;
  save(6);
  finish_all();

  EXPECT_EQ(std::string(world.last<wire::ExportModel>()->getCheckpoint()), "save-5");
}

TEST_F(CoordinatorTest, WhatAStartMakesUpForIsAddedToTheResumedCheckpoint) {
  std::string patch;
  options.amend = [&](std::uint64_t step, const std::string& given) { patch = std::to_string(step) + given; };
  form();
  amended(5, R"({"evaluation_loss":3.0})");

  EXPECT_EQ(patch, R"(5{"evaluation_loss":3.0})");
  EXPECT_TRUE(world.heard<wire::FlushTracker>(ActorId{Role::tracker, 0}).empty())
      << "it is no new checkpoint";
}

TEST_F(CoordinatorTest, ACheckpointThatCannotBeAmendedEndsNothing) {
  options.amend = [](std::uint64_t, const std::string&) {
    throw Error(ErrorKind::environment, "no space left on device");
  };
  form();
  amended(5, "{}");
  save(6);

  EXPECT_EQ(commits.size(), 1U);
  EXPECT_TRUE(stops().empty());
}

TEST_F(CoordinatorTest, ADamagedManifestThatCannotBeAmendedEndsNothing) {
  options.amend = [](std::uint64_t, const std::string&) { nlohmann::json::object().at("ranks"); };
  form();
  ::testing::internal::CaptureStderr();
  amended(5, "{}");
  const std::string said = ::testing::internal::GetCapturedStderr();
  save(6);

  EXPECT_THAT(said, HasSubstr("the evaluation after step 5 is not in its checkpoint"));
  EXPECT_EQ(commits.size(), 1U);
  EXPECT_TRUE(stops().empty());
}

// What a failed job was writing is not lost.
class FailureDuringASave : public CoordinatorTest {
 protected:
  void SetUp() override { form(); }
  void fail(const std::string& actor, const std::string& text = "row 30 is odd") {
    world.say<wire::Failed>(coordinator_id,
                            [&](wire::Failed::Builder failed) {
                              failed.setKind(wire::Failed::Kind::INPUT);
                              failed.setActor(actor);
                              failed.setText(text);
                            },
                            {Role::node, 0});
  }
  void copy_all(std::uint64_t step) {
    for (const int rank : {0, 1, 2}) state(step, rank);
  }
  void write_all(std::uint64_t step) {
    for (const int rank : {0, 1, 2}) shard(step, rank);
    tracker(step);
  }
};

TEST_F(FailureDuringASave, EndsTheJobWhenTheCheckpointIsCommitted) {
  copy_all(5);
  fail("loader 1");
  fail("trainer 0", "what follows from it");
  world.after(std::chrono::seconds(60));  // a slow disk
  EXPECT_TRUE(stops().empty());

  write_all(5);

  EXPECT_EQ(commits.size(), 1U);
  ASSERT_FALSE(stops().empty());
  EXPECT_TRUE(stops().at(0)->getFailed());
  EXPECT_THAT(std::string(stops().at(0)->getReason()),
              AllOf(HasSubstr("row 30 is odd"), Not(HasSubstr("follows"))));
}

TEST_F(FailureDuringASave, EndsTheJobAlsoWhenTheCheckpointIsGivenUp) {
  copy_all(5);
  fail("loader 1");
  disk_full = true;
  write_all(5);

  EXPECT_TRUE(commits.empty());
  ASSERT_FALSE(stops().empty());
}

// Perhaps it is the rank that failed.
TEST_F(FailureDuringASave, DoesNotWaitLongForARankThatHasNotCopiedItsState) {
  state(5, 0);
  fail("rank_executor 1");
  EXPECT_TRUE(stops().empty());

  world.after(std::chrono::seconds(3));

  ASSERT_FALSE(stops().empty());
}

TEST_F(FailureDuringASave, OfWhatWritesItEndsTheJobAtOnce) {
  copy_all(5);
  fail("checkpoint_writer 0");

  EXPECT_FALSE(stops().empty());
}

TEST_F(FailureDuringASave, IsNoSuccessWhenAllRanksFinishMeanwhile) {
  copy_all(5);
  fail("user 0");
  for (const int rank : {0, 1, 2}) finish(rank);

  ASSERT_FALSE(stops().empty());
  EXPECT_TRUE(stops().at(0)->getFailed());
}

TEST_F(FailureDuringASave, WithoutOneEndsTheJobAtOnce) {
  save(5);
  fail("loader 1");

  EXPECT_FALSE(stops().empty());
}

}  // namespace
}  // namespace d9d
