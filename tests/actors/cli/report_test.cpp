#include <gmock/gmock.h>

#include "actors/cli/running_commands.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(CliReport, WritesThePageIntoTheRunsFolderOrWhereItIsTold) {
  const test::TemporaryFolder folder;
  folder.write("metrics.jsonl", "{\"step\":1,\"loss\":7.25}\n");
  const std::string elsewhere = (folder / "page.html").string();

  const auto usual = test::call(report_command(), {folder.path().string()});
  const auto told = test::call(report_command(), {folder.path().string(), "--out", elsewhere});

  EXPECT_THAT(usual, test::prints("Ended: 1 step\nwrote " + (folder / "report.html").string()));
  EXPECT_THAT(test::text_of_file(folder / "report.html"), HasSubstr("7.25 throughout"));
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(test::text_of_file(elsewhere), HasSubstr("</html>"));
}

TEST(CliReport, RefusesAFolderThatIsNoRunAndAStepThatIsNotTraced) {
  const test::TemporaryFolder folder;

  const auto none = test::call(report_command(), {folder.path().string()});
  folder.write("metrics.jsonl", "");
  const auto step = test::call(report_command(), {folder.path().string(), "--step", "3"});

  EXPECT_THAT(none, test::is_refused("is the folder of no run"));
  EXPECT_THAT(step, test::is_refused("--step 3: There is no trace"));
  EXPECT_FALSE(std::filesystem::exists(folder / "report.html"));
}

}  // namespace
}  // namespace d9d
