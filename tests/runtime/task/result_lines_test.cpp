#include "runtime/task/result_lines.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class ResultLinesTest : public ::testing::Test {
 protected:
  std::string text() { return read_whole_file(results() / "00002.jsonl"); }
  std::filesystem::path results() const { return folder_.path() / "results"; }

  test::TemporaryFolder folder_;
};

TEST_F(ResultLinesTest, AreWrittenWhenTheyAreFlushed) {
  ResultLines lines(results(), 2);
  lines.add({{3}, {{"loss", at::tensor({1.5}, at::kDouble)}}});
  EXPECT_FALSE(std::filesystem::exists(results()));

  lines.flush();
  lines.add({{4}, {{"loss", at::tensor({std::numeric_limits<double>::quiet_NaN()}, at::kDouble)}}});
  lines.flush();

  EXPECT_EQ(text(), "{\"sample\":3,\"loss\":1.5}\n{\"sample\":4,\"loss\":null}\n");
}

TEST_F(ResultLinesTest, HaveListsWithoutWhatFillsThemUpAndTexts) {
  ResultLines lines(results(), 2);
  lines.add({{7, -1, 8},
             {{"tokens", at::tensor({5L, 6L, 1L, 1L, 9L, -1L}).view({3, 2})},
              {"x", at::tensor({0.5F, 0.0F, -1.0F})}},
             {"a\xff", "b", "c"}});
  lines.flush();

  EXPECT_EQ(text(),
            "{\"sample\":7,\"tokens\":[5,6],\"x\":0.5,\"text\":\"a\xef\xbf\xbd\"}\n"
            "{\"sample\":8,\"tokens\":[9],\"x\":-1.0,\"text\":\"c\"}\n");
}

TEST_F(ResultLinesTest, OfAnotherNumberOfRowsAreABug) {
  ResultLines lines(results(), 2);
  EXPECT_FALSE(test::error_of(
                   [&] {
                     lines.add({{3, 4}, {{"loss", at::tensor({1.5})}}});
                   },
                   ErrorKind::bug)
                   .empty());
}

}  // namespace
}  // namespace d9d
