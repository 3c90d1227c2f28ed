#include "runtime/report/html.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, EscapesTextInEveryPiece) {
  const std::string html = paragraph("<b>") + hint("a & b") + table({{"<i>"}}, {{number_cell("<u>")}}) +
                           details("<s>", "<p>as it is</p>") + section("id", "<h1>", "");

  EXPECT_EQ(test::markup_problem(html), "");
  for (const char* mark : {"<b>", "<i>", "<u>", "<s>", "<h1>"}) EXPECT_THAT(html, Not(HasSubstr(mark)));
  EXPECT_THAT(html, HasSubstr("<p>as it is</p>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">&lt;u&gt;</td>"));
}

TEST(Html, IsFoundWrongWhereItIs) {
  EXPECT_NE(test::markup_problem("<p>a"), "");
  EXPECT_NE(test::markup_problem("<p><b></p></b>"), "");
  EXPECT_NE(test::markup_problem("<p a=1></p>"), "");
  EXPECT_NE(test::markup_problem("a & b"), "");
  EXPECT_NE(test::markup_problem("<br>"), "");
}

}  // namespace
}  // namespace d9d::report
