#include "runtime/report/traced_run.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/two_stages.hpp"

namespace d9d::report {
namespace {

using testing::HasSubstr;

TEST(TracedRun, ReadsTheTraceOfTheLastStart) {
  test::RunMaker run;
  test::TwoStages().step(3, 0).write(run.folder() / "traces" / "trace.json.gz");

  const TracedRun traced = read_trace(run.look());

  EXPECT_EQ(traced.missing, "");
  EXPECT_EQ(traced.analysis.ranks.size(), 2U);
  EXPECT_EQ(traced.analysis.steps.max_step, 3);
}

TEST(TracedRun, SaysHowATraceIsSwitchedOnOrWhatIsWrongWithIt) {
  test::RunMaker off, lost, broken;
  auto job = test::job_of("r", 3);
  job["node"]["trace"] = false;
  off.steps(1).started(0, job);
  lost.steps(1);
  std::filesystem::create_directories(broken.folder() / "traces");
  broken.folder().write("traces/trace.json.gz", "no gzip");

  EXPECT_THAT(read_trace(off.look()).missing, HasSubstr("the job has node.trace: false"));
  EXPECT_THAT(read_trace(lost.look()).missing, HasSubstr("node.trace: true"));
  EXPECT_THAT(read_trace(broken.look()).missing, HasSubstr("The trace cannot be read: "));
}

}  // namespace
}  // namespace d9d::report
