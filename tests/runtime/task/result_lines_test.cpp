#include "runtime/task/result_lines.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class ResultLinesTest : public ::testing::Test {
 protected:
  std::string text(int rank) {
    return read_whole_file(results() / (rank == 0 ? "00000.jsonl" : "00001.jsonl"));
  }
  std::filesystem::path results() const { return folder_.path() / "results"; }

  test::TemporaryFolder folder_;
};

TEST_F(ResultLinesTest, AreWrittenWhenTheyAreFlushed) {
  ResultLines lines(results(), 0);
  lines.add(3, {{"loss", 1.5}});
  EXPECT_FALSE(std::filesystem::exists(results()));

  lines.flush();
  lines.add(4, {{"loss", nullptr}});
  lines.flush();

  EXPECT_EQ(text(0), "{\"sample\":3,\"loss\":1.5}\n{\"sample\":4,\"loss\":null}\n");
}

TEST_F(ResultLinesTest, ThoseAfterACheckpointAreDroppedFromAllFiles) {
  drop_results_from(results(), 0);  // no folder yet
  for (const int rank : {0, 1}) {
    ResultLines lines(results(), rank);
    for (const int sample : {2, 7, 5}) lines.add(sample + rank, {{"rank", rank}});
    lines.flush();
  }
  AppendFile(results() / "00001.jsonl", AppendFile::Mode::keep).append(R"({"sample":1,"torn)");

  drop_results_from(results(), 6);

  EXPECT_EQ(text(0), "{\"sample\":2,\"rank\":0}\n{\"sample\":5,\"rank\":0}\n");
  EXPECT_EQ(text(1), "{\"sample\":3,\"rank\":1}\n");
}

}  // namespace
}  // namespace d9d
