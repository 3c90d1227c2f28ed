// What trackers do where nothing can be written for a while.
#include <gmock/gmock.h>

#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/metric/sink/jsonl_sink.hpp"
#include "runtime/metric/sink/tensorboard_sink.hpp"
#include "runtime/metric/sink/write_retry.hpp"
#include "tests/runtime/metric/sink/event_reader.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/process/file_size_limit.hpp"

namespace d9d {
namespace {

using test::FileSizeLimit;
using testing::HasSubstr;

class FullDisk : public SinkFolder {
 protected:
  std::filesystem::path path() const { return folder_ / "metrics.jsonl"; }
  static void steps(TrackerRun& run, std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step <= to; ++step) {
      run.write({"loss", step}, Scalar{1.0 / static_cast<double>(step)});
      run.end_step(step);
    }
  }
  std::string whole_run(std::int64_t to) {
    const auto other = folder_ / "whole.jsonl";
    JsonlRun run(other, 0);
    steps(run, 1, to);
    return content(other);
  }
};

TEST_F(FullDisk, LinesOfMetricsWaitAndNoneIsLost) {
  JsonlRun run(path(), 0);
  steps(run, 1, 50);  // the limit binds what is said, too
  const std::string before = content(path());
  testing::internal::CaptureStderr();
  {
    const FileSizeLimit full(before.size() + 5);
    steps(run, 51, 200);
    EXPECT_EQ(content(path()), before) << "no half line";
    run.write({"late", 49}, Scalar{7});
    run.write({"late", 199}, Scalar{7});
    run.end_step(200);
    EXPECT_NO_THROW(run.flush());
  }
  run.close();

  const std::string said = testing::internal::GetCapturedStderr();
  std::string expected = whole_run(200);
  expected.insert(expected.find('}', expected.find("\"step\":49,")), ",\"late\":7.0");
  expected.insert(expected.find('}', expected.find("\"step\":199,")), ",\"late\":7.0");
  EXPECT_EQ(content(path()), expected);
  EXPECT_THAT(said, HasSubstr("Training goes on"));
  EXPECT_EQ(said.find("Training goes on"), said.rfind("Training goes on")) << "said once";
  EXPECT_THAT(said, HasSubstr("metrics.jsonl is written again"));
}

TEST_F(FullDisk, MetricsComeBackBeforeTheEnd) {
  JsonlRun run(path(), 0);
  {
    const FileSizeLimit full(5);
    steps(run, 1, 10);
  }
  steps(run, 11, 100);

  EXPECT_THAT(content(path()), HasSubstr("\"step\":1,"));
  EXPECT_THAT(content(path()), HasSubstr("\"step\":50,"));
}

TEST_F(FullDisk, MemoryIsBoundedAndWhatIsLostIsCounted) {
  JsonlRun run(path(), 0);
  testing::internal::CaptureStderr();
  {
    const FileSizeLimit full(5);
    steps(run, 1, 10'007);
  }
  run.close();

  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("7 lines of"));
  EXPECT_THAT(content(path()), testing::StartsWith("{\"step\":8,"));
  EXPECT_THAT(content(path()), HasSubstr("\"step\":10007,"));
}

TEST_F(FullDisk, TensorboardKeepsItsEventsAndStaysReadable) {
  TensorboardRun run({folder_, "h", 0}, clock_);
  steps(run, 1, 3);
  {
    const FileSizeLimit full(std::filesystem::file_size(run.path()) + 5);
    steps(run, 4, 50);
    EXPECT_EQ(parse_events(content(run.path())).size(), 2U + 3U) << "whole events only";
    EXPECT_NO_THROW(run.flush());
  }
  run.close();

  EXPECT_EQ(parse_events(content(run.path())).size(), 2U + 50U);
}

TEST_F(FullDisk, ARetryWaitsLongerAfterEachFailureAndAnUrgentOneDoesNot) {
  WriteRetry retry("file");
  int tries = 0;
  const auto fail = [&] {
    ++tries;
    throw Error(ErrorKind::environment, "no");
  };

  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(retry.attempt(fail, false));
  EXPECT_GT(tries, 10);
  EXPECT_LT(tries, 30);
  EXPECT_FALSE(retry.attempt(fail, true));
  EXPECT_LT(tries, 31);
  EXPECT_TRUE(retry.attempt([] {}, true));
  EXPECT_FALSE(retry.is_failing());
  EXPECT_THROW(retry.attempt([] { throw Error(ErrorKind::bug, "ours"); }, true), Error);
}

}  // namespace
}  // namespace d9d
