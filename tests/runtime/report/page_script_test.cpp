#include "runtime/report/page_script.hpp"

#include <gmock/gmock.h>

namespace d9d::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageScript, NeedsNoEscapingInHtmlAndInXml) {
  EXPECT_THAT(page_script(), Not(HasSubstr("<")));
  EXPECT_THAT(page_script(), Not(HasSubstr("&")));
}

// What the script looks for is what line_chart() writes; see LineChart.HasStepsAndTimeBelowAndItsFiguresAsText.
TEST(PageScript, ReadsWhatAChartCarries) {
  for (const char* part :
       {"figure.chart", "dataset.frame", "dataset.points", "\"output\"", "\".cursor\"", "\".legend li\""})
    EXPECT_THAT(page_script(), HasSubstr(part));
}

}  // namespace
}  // namespace d9d::report
