#include "runtime/task/result_tensors.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/state/safetensors.hpp"
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
  void add(ResultTensors& tensors, std::int64_t sample, std::optional<std::int64_t> document = {}) const {
    const std::vector<float> vector{static_cast<float>(sample), 0.5F};
    tensors.add(sample, document, vector);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ResultTensorsTest, AreAFileForEachFlush) {
  ResultTensors tensors(results(), 3);
  add(tensors, 9);
  add(tensors, 8);
  EXPECT_FALSE(std::filesystem::exists(results()));

  tensors.flush();
  tensors.flush();
  add(tensors, 10);
  tensors.flush();

  ASSERT_THAT(files(), ElementsAre("00003-000000000008.safetensors", "00003-000000000010.safetensors"));
  const SafetensorsReader file = reader("00003-000000000008.safetensors");
  EXPECT_THAT(file.names(), testing::UnorderedElementsAre("samples", "embeddings"));
  EXPECT_EQ(file.read("samples")[1].item<std::int64_t>(), 8);
  EXPECT_EQ(file.read("embeddings").sizes(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(file.read("embeddings")[0][0].item<float>(), 9);
  EXPECT_EQ(file.read("embeddings")[1][1].item<float>(), 0.5);
}

TEST_F(ResultTensorsTest, OfPackedRowsNameTheirDocument) {
  ResultTensors tensors(results(), 0);
  add(tensors, 4, 0);
  add(tensors, 4, 1);
  tensors.flush();

  EXPECT_EQ(reader("00000-000000000004.safetensors").read("documents")[1].item<std::int64_t>(), 1);
}

TEST_F(ResultTensorsTest, AreWrittenWhenMuchOfThemWaits) {
  ResultTensors tensors(results(), 0, 16);
  add(tensors, 1);
  add(tensors, 2);
  add(tensors, 3);

  EXPECT_THAT(files(), ElementsAre("00000-000000000001.safetensors"));
}

TEST_F(ResultTensorsTest, OfAnotherWidthAreABug) {
  ResultTensors tensors(results(), 0);
  add(tensors, 1);
  const std::vector<float> three(3);

  EXPECT_EQ(test::error_of([&] { tensors.add(2, {}, three); }, ErrorKind::bug).empty(), false);
  EXPECT_EQ(test::error_of([&] { add(tensors, 2, 0); }, ErrorKind::bug).empty(), false);
}

TEST_F(ResultTensorsTest, ThoseAfterACheckpointAreDropped) {
  drop_result_tensors_from(results(), 0);  // no folder yet
  for (const int rank : {0, 1}) {
    ResultTensors tensors(results(), rank);
    for (const int sample : {2, 5}) {
      add(tensors, sample + rank);
      tensors.flush();
    }
  }
  std::filesystem::copy_file(results() / "00000-000000000002.safetensors",
                             results() / "00000-000000000008.safetensors.tmp");

  drop_result_tensors_from(results(), 6);

  EXPECT_THAT(files(), ElementsAre("00000-000000000002.safetensors", "00000-000000000005.safetensors",
                                   "00001-000000000003.safetensors"));
}

}  // namespace
}  // namespace d9d
