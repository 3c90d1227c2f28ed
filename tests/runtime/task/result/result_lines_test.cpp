#include "runtime/task/result/result_lines.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

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

class Placed final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return 3; }
  std::int64_t sequence_length() const override { return 1; }
  Sample at(std::uint64_t) const override { return {{0}, {0}}; }
  std::vector<RowPlace> places_of(std::uint64_t index) const override {
    if (index == 0) return {{"a.txt", 12, true}};
    if (index == 1) return {{"b.csv", 0, false}, {"b.csv", 1, false}};
    return {{"a.jsonl", 3, true}, {"b.jsonl", 1, true}};
  }
};

TEST_F(ResultLinesTest, NameTheRowsThatTheirSamplesWereMadeOf) {
  ResultLines lines(results(), 2, std::make_shared<Placed>());
  lines.add({{2, 0, -1, 1}, {{"x", at::tensor({2L, 0L, 9L, 1L})}}});
  lines.flush();
  EXPECT_EQ(text(),
            "{\"sample\":2,\"file\":[\"a.jsonl\",\"b.jsonl\"],\"line\":[3,1],\"x\":2}\n"
            "{\"sample\":0,\"file\":\"a.txt\",\"line\":12,\"x\":0}\n"
            "{\"sample\":1,\"file\":\"b.csv\",\"row\":[0,1],\"x\":1}\n");
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
