#include "actors/job/folder/job_record.hpp"

#include <gtest/gtest.h>

#include "runtime/base/clock.hpp"
#include "runtime/metric/sink/run_record.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class JobRecords : public testing::Test {
 protected:
  JobRecords() {
    add_record(options_, {.file = folder_ / run_record_name,
                          .build = "b",
                          .job = {{"task", "causal_lm"}},
                          .clock = clock_,
                          .watch = watch_});
  }
  std::vector<RunStart> starts() const { return read_run_record(folder_ / run_record_name); }

  const test::TemporaryFolder folder_;
  SystemClock clock_;
  DiskWatch watch_{std::chrono::seconds(60), [](const std::string&) {}};
  CoordinatorOptions options_;
};

TEST_F(JobRecords, TellHowTheJobEnded) {
  options_.on_training(0);
  options_.on_end(true, 15, "stopped by SIGTERM after step 3");
  options_.on_training(3);
  options_.on_end(true, 0, "rank 1 failed");
  options_.on_training(3);
  options_.on_end(false, 0, "done");

  const auto all = starts();

  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].end->outcome, RunOutcome::stopped);
  EXPECT_EQ(all[1].step, 3U);
  EXPECT_EQ(all[1].end->outcome, RunOutcome::failed);
  EXPECT_EQ(all[1].end->reason, "rank 1 failed");
  EXPECT_EQ(all[2].end->outcome, RunOutcome::finished);
  EXPECT_EQ(all[2].job["task"], "causal_lm");
  EXPECT_GT(all[2].time, 1e9) << "seconds since 1970";
}

TEST_F(JobRecords, DoNotEndAJobWhoseDiskFails) {
  std::filesystem::create_directories(folder_ / run_record_name);

  EXPECT_NO_THROW(options_.on_training(0));
  EXPECT_NO_THROW(options_.on_end(false, 0, "done"));
}

}  // namespace
}  // namespace d9d
