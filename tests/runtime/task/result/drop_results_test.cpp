#include "runtime/task/result/drop_results.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/task/result/result_lines.hpp"
#include "runtime/task/result/result_tensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class DropResultsTest : public ::testing::Test {
 protected:
  std::string text(const std::string& name) const { return read_whole_file(results() / name); }
  std::filesystem::path results() const { return folder_.path() / "results"; }
  static ResultRows row(std::int64_t sample, std::int64_t rank) {
    return {{sample}, {{"rank", at::tensor({rank})}}};
  }

  test::TemporaryFolder folder_;
};

TEST_F(DropResultsTest, LinesAfterACheckpointGoFromAllFiles) {
  drop_results_from(results(), 0);  // no folder yet
  for (const int rank : {0, 1}) {
    ResultLines lines(results(), rank);
    for (const int sample : {2, 7, 5}) lines.add(row(sample + rank, rank));
    lines.flush();
  }
  AppendFile(results() / "00001.jsonl", AppendFile::Mode::keep).append(R"({"sample":1,"torn)");

  drop_results_from(results(), 6);

  EXPECT_EQ(text("00000.jsonl"), "{\"sample\":2,\"rank\":0}\n{\"sample\":5,\"rank\":0}\n");
  EXPECT_EQ(text("00001.jsonl"), "{\"sample\":3,\"rank\":1}\n");
}

TEST_F(DropResultsTest, FilesOfTensorsAfterACheckpointGoAndThoseOfOthersStay) {
  for (const int rank : {0, 1}) {
    ResultTensors tensors(results(), rank);
    for (const int sample : {2, 5}) {
      tensors.add(row(sample + rank, rank));
      tensors.flush();
    }
  }
  const auto first = results() / "00000-000000000002.safetensors";
  std::filesystem::copy_file(first, results() / "00000-000000000008.safetensors.tmp");
  std::filesystem::copy_file(first, results() / "of_a_plugin.safetensors");

  drop_results_from(results(), 6);

  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(results()))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(
      left, testing::UnorderedElementsAre("00000-000000000002.safetensors", "00000-000000000005.safetensors",
                                          "00001-000000000003.safetensors", "of_a_plugin.safetensors"));
}

}  // namespace
}  // namespace d9d
