#include "runtime/report/section/time_section.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/two_stages.hpp"
#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TimeSection, SharesOutTheStepTimeAndNamesTheWaitingMailboxes) {
  const trace::Recording recording = test::TwoStages().step(1, 0).step(2, 100).recording();

  const std::string html =
      time_section({.recording = recording, .analysis = trace::analyze(recording), .missing = {}});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("2 steps on 2 ranks traced: 24.000 ms on average"),
                          HasSubstr("rank 1: compute 66.7 %"), HasSubstr("trainer@0 \u2192 rank_executor@0"),
                          HasSubstr("<td>begin_step</td>"), HasSubstr(">3.000</td>")))
      << html;
}

TEST(TimeSection, SaysWhyThereIsNothing) {
  EXPECT_THAT(time_section({.recording = {}, .analysis = {}, .missing = "There is no trace: why."}),
              HasSubstr("<p class=\"hint\">There is no trace: why.</p>"));
  EXPECT_THAT(time_section({.recording = trace::Recording{}, .analysis = {}, .missing = {}}),
              HasSubstr("The trace has no training step"));
}

}  // namespace
}  // namespace d9d::report
