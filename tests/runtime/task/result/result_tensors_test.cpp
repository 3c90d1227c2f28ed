#include "runtime/task/result/result_tensors.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

class ResultTensorsTest : public ::testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(results()))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  SafetensorsReader reader(const std::string& name) const {
    return {PosixDisk(), (results() / name).string()};
  }
  std::filesystem::path results() const { return folder_.path() / "results"; }
  static ResultRows row(std::int64_t sample) {
    return {{sample}, {{"embedding", at::tensor({static_cast<float>(sample), 0.5F}).unsqueeze(0)}}};
  }

  test::TemporaryFolder folder_;
};

TEST_F(ResultTensorsTest, AreAFileForEachFlush) {
  ResultTensors tensors(results(), 3);
  tensors.add(row(9));
  tensors.add(row(8));
  EXPECT_FALSE(std::filesystem::exists(results()));

  tensors.flush();
  tensors.flush();
  tensors.add(row(10));
  tensors.flush();

  ASSERT_THAT(files(), ElementsAre("00003-000000000008.safetensors", "00003-000000000010.safetensors"));
  const SafetensorsReader file = reader("00003-000000000008.safetensors");
  EXPECT_THAT(file.names(), testing::UnorderedElementsAre("sample", "embedding"));
  EXPECT_EQ(file.read("sample")[1].item<std::int64_t>(), 8);
  EXPECT_EQ(file.read("embedding").sizes(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(file.read("embedding")[0][0].item<float>(), 9);
  EXPECT_EQ(file.read("embedding")[1][1].item<float>(), 0.5);
}

TEST_F(ResultTensorsTest, LeaveOutRowsThatStandForNoSampleAndFillListsUp) {
  ResultTensors tensors;
  tensors.add({{4, -1}, {{"tokens", at::tensor({1L, 2L, 3L, 4L}).view({2, 2})}}});
  tensors.add({{-1}, {{"tokens", at::full({1, 5}, 9, at::kLong)}}});
  tensors.add({{5}, {{"tokens", at::full({1, 3}, 7, at::kLong)}}});
  tensors.flush();

  const TensorMap rows = tensors.take();

  EXPECT_TRUE(rows.at("sample").equal(at::tensor({4L, 5L})));
  EXPECT_TRUE(rows.at("tokens").equal(at::tensor({1L, 2L, -1L, 7L, 7L, 7L}).view({2, 3})))
      << rows.at("tokens");
  EXPECT_TRUE(tensors.take().empty());
}

class PlacedSamples final : public SampleSource {
  std::optional<std::uint64_t> num_samples() const override { return 9; }
  std::int64_t sequence_length() const override { return 1; }
  Sample at(std::uint64_t /*index*/) const override { return {}; }
  std::vector<RowPlace> places_of(std::uint64_t index) const override {
    if (index == 8) return {{"a.jsonl", 9, true}, {"b.parquet", 0}};
    return {{"b.parquet", index}};
  }
};

TEST_F(ResultTensorsTest, SayTheRowsOfFilesThatSamplesWereMadeOf) {
  ResultTensors tensors(results(), 0, ResultTensors::usual_bytes, std::make_shared<PlacedSamples>());
  tensors.add(row(3));
  tensors.add({{8, -1}, {{"embedding", at::full({2, 2}, 0.5F)}}});
  tensors.flush();

  const SafetensorsReader file = reader("00000-000000000003.safetensors");
  EXPECT_EQ(file.header().metadata.at("source_files"),
            R"([{"file":"b.parquet","rows_from":0},{"file":"a.jsonl","rows_from":1}])");
  EXPECT_TRUE(file.read("source_file").equal(at::tensor({0L, -1L, 1L, 0L}).view({2, 2})));
  EXPECT_TRUE(file.read("source_row").equal(at::tensor({3L, -1L, 9L, 0L}).view({2, 2})));
}

TEST_F(ResultTensorsTest, AreWrittenWhenMuchOfThemWaits) {
  ResultTensors tensors(results(), 0, 32);
  for (const int sample : {1, 2, 3}) tensors.add(row(sample));

  EXPECT_THAT(files(), ElementsAre("00000-000000000001.safetensors"));
}

TEST_F(ResultTensorsTest, OfOtherColumnsAreABug) {
  ResultTensors tensors(results(), 0);
  tensors.add(row(1));

  const auto is_bug = [&](const ResultRows& rows) {
    return !test::error_of([&] { tensors.add(rows); }, ErrorKind::bug).empty();
  };
  EXPECT_TRUE(is_bug({{2}, {{"embedding", at::full({1, 3}, 0.5F)}}}));
  EXPECT_TRUE(is_bug({{2}, {{"other", at::full({1, 2}, 0.5F)}}}));
  EXPECT_TRUE(is_bug({{2}, {}}));
}

}  // namespace
}  // namespace d9d
