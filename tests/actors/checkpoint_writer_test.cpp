#include "actors/checkpoint_writer.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

constexpr ActorId writer_id{Role::checkpoint_writer, 0};
constexpr ActorId coordinator_id{Role::coordinator, 0};

class CheckpointWriterTest : public ::testing::Test {
 protected:
  CheckpointWriterTest() {
    world.play<CheckpointWriter>(
        writer_id,
        CheckpointWriterOptions{
            .write =
                [this](const std::string& directory, const std::string& file, Ticket shard) {
                  if (device_failed) throw Error(ErrorKind::bug, "a device failed");
                  if (disk_full) throw Error(ErrorKind::environment, "no space left on device");
                  written.push_back(fmt::format("{}/{} slot {}", directory, file, shard.slot));
                  return std::string(R"({"file":"x"})");
                },
            .export_share =
                [this](const std::string& checkpoint, const std::string& folder, int share, int shares) {
                  if (disk_full) throw Error(ErrorKind::environment, "no space left on device");
                  written.push_back(
                      fmt::format("{} to {}, share {} of {}", checkpoint, folder, share, shares));
                  return folder != "elsewhere";
                }});
  }
  void write(std::uint64_t step, Ticket shard = {9, 1}) {
    world.say<wire::WriteShard>(writer_id, [&](wire::WriteShard::Builder message) {
      message.setStep(step);
      message.setDirectory("tmp");
      message.setFile("rank-00002");
      message.setTicket(shard.packed());
      message.setRank(2);
    });
  }
  void export_to(const std::string& folder) {
    world.say<wire::ExportModel>(writer_id, [&](wire::ExportModel::Builder message) {
      message.setCheckpoint("save-4");
      message.setTarget(folder);
      message.setShare(1);
      message.setShares(3);
    });
  }
  bool disk_full = false, device_failed = false;
  std::vector<std::string> written;
  ActorWorld world;
};

TEST_F(CheckpointWriterTest, ReportsAWrittenShardToTheCoordinator) {
  write(4);

  const auto report = world.last<wire::ShardWritten>(coordinator_id);
  EXPECT_EQ(written, std::vector<std::string>{"tmp/rank-00002 slot 9"});
  EXPECT_EQ(report->getStep(), 4U);
  EXPECT_EQ(report->getRank(), 2);
  EXPECT_EQ(std::string(report->getReport()), R"({"file":"x"})");
  EXPECT_EQ(report->getFailure().size(), 0U);
}

TEST_F(CheckpointWriterTest, EndsWithABugWhichIsNoFullDisk) {
  device_failed = true;
  write(4);

  EXPECT_EQ(world.heard<wire::Failed>().size(), 1U);
  EXPECT_TRUE(world.heard<wire::ShardWritten>().empty());
}

TEST_F(CheckpointWriterTest, ReportsAFullDiskAsFailureAndGoesOn) {
  disk_full = true;
  write(4);
  EXPECT_EQ(std::string(world.last<wire::ShardWritten>()->getFailure()), "no space left on device");
  EXPECT_TRUE(world.heard<wire::Failed>().empty());

  disk_full = false;
  write(5);

  EXPECT_EQ(world.last<wire::ShardWritten>()->getFailure().size(), 0U);
  EXPECT_EQ(written.size(), 1U);
}

TEST_F(CheckpointWriterTest, ARankWithNothingToWriteIsReportedWithoutAFile) {
  write(4, Ticket{});

  EXPECT_TRUE(written.empty());
  EXPECT_EQ(world.last<wire::ShardWritten>()->getReport().size(), 0U);
  EXPECT_EQ(world.last<wire::ShardWritten>()->getFailure().size(), 0U);
}

TEST_F(CheckpointWriterTest, ReportsHowAShareOfAnExportEnded) {
  for (const bool full : {false, true}) {
    disk_full = full;
    export_to("out");

    const auto exported = world.last<wire::ModelExported>(coordinator_id);
    EXPECT_EQ(std::string(exported->getTarget()), "out");
    EXPECT_EQ(std::string(exported->getFailure()), full ? "no space left on device" : "");
    EXPECT_EQ(exported->getShare(), 1U);
    EXPECT_FALSE(exported->getUnseen());
  }
  EXPECT_EQ(written, std::vector<std::string>{"save-4 to out, share 1 of 3"});
}

TEST_F(CheckpointWriterTest, TellsThatItDoesNotSeeTheFolderOfAnExport) {
  export_to("elsewhere");

  EXPECT_TRUE(world.last<wire::ModelExported>(coordinator_id)->getUnseen());
}

}  // namespace
}  // namespace d9d
