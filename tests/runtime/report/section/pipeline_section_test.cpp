#include "runtime/report/section/pipeline_section.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/two_stages.hpp"
#include "tests/runtime/report/well_formed.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TracedRun three_steps() {
  const trace::Recording recording = test::TwoStages().step(1, 0).step(2, 100).step(3, 200).recording();
  TracedRun traced{.recording = recording, .analysis = trace::analyze(recording), .missing = {}};
  traced.analysis.steps.max_step = 2;
  return traced;
}

TEST(PipelineSection, DrawsTheLastWholeStepAndTheSlowest) {
  const std::string html = pipeline_section(three_steps(), {});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<h3>Step 3, the last that the trace has whole</h3>"),
                          HasSubstr("<h3>Step 2, the slowest</h3>"),
                          HasSubstr("Measured 24.000 ms with a bubble of 41.7 %"),
                          HasSubstr("<title>1B1 14 to 19 (5)"), HasSubstr(">pp 1, rank 1</text>"),
                          Not(HasSubstr("width=\"1312\""))));
}

TEST(PipelineSection, DrawsTheStepsThatWereAskedFor) {
  const std::string html = pipeline_section(three_steps(), {1, 2});

  EXPECT_THAT(html,
              AllOf(HasSubstr("<h3>Step 1</h3>"), HasSubstr("<h3>Step 2</h3>"), Not(HasSubstr("Step 3"))));
  EXPECT_THAT(test::error_of([] { pipeline_section(three_steps(), {9}); }, ErrorKind::input),
              HasSubstr("the trace has no step 9; it has 1 to 3"));
}

TEST(PipelineSection, NeedsATrace) {
  const TracedRun none{.recording = {}, .analysis = {}, .missing = "There is no trace."};

  EXPECT_THAT(pipeline_section(none, {}), HasSubstr("Drawn from the trace, and there is none."));
  EXPECT_THAT(test::error_of([&] { pipeline_section(none, {4}); }, ErrorKind::input),
              HasSubstr("--step 4: There is no trace."));
}

}  // namespace
}  // namespace d9d::report
