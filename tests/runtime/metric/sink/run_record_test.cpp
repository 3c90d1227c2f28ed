#include "runtime/metric/sink/run_record.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/metric/sink/sink_fixture.hpp"

namespace d9d {
namespace {

class RunRecords : public SinkFolder {
 protected:
  const std::filesystem::path file_ = folder_ / run_record_name;
};

TEST_F(RunRecords, TellEveryStartWithItsJobAndItsEnd) {
  record_start(file_, {.time = 100, .step = 0, .build = "b1", .job = {{"task", {{"name", "causal_lm"}}}}});
  record_end(file_, {.outcome = RunOutcome::stopped, .reason = "stopped by SIGTERM", .time = 160});
  record_start(file_, {.time = 200, .step = 12, .build = "b2", .job = {{"task", "other"}}});

  const auto starts = read_run_record(file_);

  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[0].job["task"]["name"], "causal_lm");
  ASSERT_TRUE(starts[0].end.has_value());
  EXPECT_EQ(starts[0].end->outcome, RunOutcome::stopped);
  EXPECT_EQ(starts[0].end->reason, "stopped by SIGTERM");
  EXPECT_EQ(starts[0].end->time, 160);
  EXPECT_EQ(starts[1].step, 12U);
  EXPECT_EQ(starts[1].build, "b2");
  EXPECT_FALSE(starts[1].end.has_value());
}

TEST_F(RunRecords, GoOnBehindALineThatWasCutShort) {
  record_start(file_, {.time = 1});
  std::ofstream(file_, std::ios::app) << R"({"end":"fini)";
  record_start(file_, {.time = 2, .step = 5});
  record_end(file_, {.outcome = RunOutcome::failed, .reason = "no room"});

  const auto starts = read_run_record(file_);

  ASSERT_EQ(starts.size(), 2U);
  EXPECT_FALSE(starts[0].end.has_value());
  EXPECT_EQ(starts[1].end->outcome, RunOutcome::failed);
}

TEST_F(RunRecords, LeaveOutWhatIsNoneOfTheirLines) {
  std::filesystem::create_directories(file_.parent_path());
  std::ofstream(file_)
      << "[1]\nnot JSON\n{\"end\":\"finished\"}\n{\"start_after_step\":\"seven\"}\n{\"end\":7}\n";

  const auto starts = read_run_record(file_);

  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].step, 0U);
  EXPECT_FALSE(starts[0].end.has_value());
  EXPECT_TRUE(read_run_record(folder_ / "absent.jsonl").empty());
}

}  // namespace
}  // namespace d9d
