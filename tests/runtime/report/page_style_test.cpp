#include "runtime/report/page_style.hpp"

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "runtime/report/page.hpp"
#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/two_stages.hpp"

namespace d9d::report {
namespace {

using testing::HasSubstr;

std::set<std::string> all_matches(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

TEST(PageStyle, DefinesEveryColourItUsesForLightAndForDark) {
  const std::string style = page_style();
  const std::size_t dark = style.find("prefers-color-scheme: dark");
  ASSERT_NE(dark, std::string::npos);
  const auto used = all_matches(style, R"(var\((--[a-z0-9-]+)\))");
  const auto light_ones = all_matches(style.substr(0, dark), R"((--[a-z0-9-]+):)");
  const auto dark_ones = all_matches(style.substr(dark), R"((--[a-z0-9-]+):)");

  EXPECT_EQ(used, light_ones);
  EXPECT_EQ(light_ones, dark_ones);
}

TEST(PageStyle, KnowsEveryClassOfAPage) {
  test::RunMaker run;
  run.steps(40).started(0, test::job_of("r", 2)).started(1, test::job_of("r", 2));
  test::TwoStages().step(1, 0).write(run.folder() / "traces" / "trace.json.gz");

  const std::string html = report_page(run.look(), {});

  for (const std::string& names : all_matches(html, "class=\"([^\"]+)\"")) {
    std::istringstream words(names);
    for (std::string name; words >> name;) EXPECT_THAT(page_style(), HasSubstr("." + name)) << name;
  }
}

}  // namespace
}  // namespace d9d::report
