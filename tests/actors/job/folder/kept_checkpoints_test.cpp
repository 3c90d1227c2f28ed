#include "actors/job/folder/kept_checkpoints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class KeptCheckpointsTest : public testing::Test {
 protected:
  static JobConfig job_in(const std::filesystem::path& folder) {
    JobConfig job;
    job.output_dir = folder.string();
    job.trainer.checkpointing.num_to_keep = 3;
    return job;
  }
  void save(std::uint64_t step, double loss) {
    const std::string name = join_path(directory(), checkpoint_name(step));
    const std::string extra = R"({"ranks":{"0":{"evaluation_loss":)" + std::to_string(loss) + "}}}";
    disk_.make_directories(name + ".tmp-x");
    commit_checkpoint(disk_, name + ".tmp-x", name, {.step = step, .extra = extra});
    kept_.committed(step, extra);
  }
  std::string directory() const { return folder_ / "checkpoints"; }
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> steps;
    for (const auto& found : find_checkpoints(disk_, directory())) steps.push_back(found.step);
    return steps;
  }
  std::string made_room() {
    testing::internal::CaptureStderr();
    kept_.make_room();
    return testing::internal::GetCapturedStderr();
  }

  PosixDisk disk_;
  test::TemporaryFolder folder_;
  JobConfig job_ = job_in(folder_.path());
  KeptCheckpoints kept_{disk_, job_};
};

TEST_F(KeptCheckpointsTest, MakeRoomOneByOneAndTheNewestStays) {
  for (const std::uint64_t step : {20, 40, 60}) save(step, 1);

  EXPECT_THAT(made_room(), HasSubstr("the disk is full: save-20 is removed"));
  EXPECT_THAT(steps(), ElementsAre(60, 40));
  EXPECT_THAT(made_room(), HasSubstr("save-40 is removed"));
  EXPECT_EQ(made_room(), "");
  EXPECT_THAT(steps(), ElementsAre(60));
}

TEST_F(KeptCheckpointsTest, MakeNoRoomOfTheBestOne) {
  job_.evaluation.emplace();
  job_.evaluation->keep_best = true;
  save(20, 1);
  save(40, 3);
  save(60, 2);

  EXPECT_THAT(made_room(), HasSubstr("save-40 is removed"));
  EXPECT_EQ(made_room(), "");
  EXPECT_THAT(steps(), ElementsAre(60, 20));
}

// A damaged one says nothing: it is not counted, and somebody may want to look at it.
TEST_F(KeptCheckpointsTest, MakeNoRoomOfDamagedOnes) {
  save(20, 1);
  save(40, 1);
  kept_.found({20});

  EXPECT_EQ(made_room(), "");
  EXPECT_THAT(steps(), ElementsAre(40, 20));
}

}  // namespace
}  // namespace d9d
