#include "runtime/report/chart/bar_chart.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(BarChart, TheSharesFillTheRow) {
  const std::string html = bar_chart("Step time", {{"compute", "compute"}, {"bubble", "bubble"}},
                                     {{"rank 0", {3, 1}}, {"rank <1>", {0, 0}}});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html,
              AllOf(HasSubstr("rank 0: compute 75.0 %"), HasSubstr("x=\"60.00\" y=\"0\" width=\"244.50\""),
                    HasSubstr("x=\"304.50\" y=\"0\" width=\"81.50\""), HasSubstr("rank &lt;1&gt;")));
}

}  // namespace
}  // namespace d9d::report
