// Against numpy; see tests/golden/folders/origin.md.
#include "runtime/state/weights/float8.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

std::string golden_folder_of(const std::string& name) {
  return std::string(D9D_SOURCE_DIR) + "/tests/golden/folders/" + name;
}

class Float8Weights : public testing::Test {
 protected:
  at::Tensor expected(const std::string& name, const std::string& folder = "float8") const {
    return SafetensorsReader(disk_, golden_folder_of(folder) + "/expect.safetensors").read(name);
  }

  const PosixDisk disk_;
};

TEST_F(Float8Weights, AreWhatNumpyMakesOfTheirValuesAndScales) {
  const ModelFiles files(disk_, golden_folder_of("float8"));

  EXPECT_EQ(files.names().size(), 7U);
  for (const std::string& name : files.names()) {
    EXPECT_EQ(files.spec(name).dtype, Dtype::float32) << name;
    EXPECT_TRUE(at::allclose(files.read(name), expected(name), 0, 0, /*equal_nan=*/true)) << name;
  }
}

TEST_F(Float8Weights, ReadInAnyBoxAreThoseOfTheWhole) {
  const ModelFiles files(disk_, golden_folder_of("float8"));
  const std::string edges = "edges.weight", experts = "experts.gate_up_proj";
  const at::Tensor whole_edges = expected(edges), whole_experts = expected(experts);

  for (std::int64_t begin = 0; begin < 13; ++begin) {
    for (std::int64_t end = begin + 1; end <= 13; ++end) {
      const auto rows = whole_edges.narrow(0, begin, end - begin);
      EXPECT_TRUE(at::equal(files.read(edges, {{begin, 0}, {end, 21}}), rows));
      EXPECT_TRUE(at::equal(files.read(edges, {{begin, 7}, {end, 20}}), rows.narrow(1, 7, 13)));
    }
  }
  EXPECT_TRUE(at::equal(files.read(experts, {{1, 3, 5}, {3, 9, 17}}),
                        whole_experts.narrow(0, 1, 2).narrow(1, 3, 6).narrow(2, 5, 12)));
  EXPECT_EQ(files.read(edges, {{3, 4}, {3, 9}}).numel(), 0);
}

TEST_F(Float8Weights, HaveBlocksOf128WhereNobodySaysOtherwise) {
  const std::string folder = "float8_blocks_of_128", name = "w.weight";
  const ModelFiles files(disk_, golden_folder_of(folder));

  const at::Tensor all = files.read(name);

  EXPECT_TRUE(at::equal(all.narrow(0, 127, 2), expected("rows", folder)));
  EXPECT_TRUE(at::equal(all.narrow(1, 127, 3), expected("columns", folder)));
  EXPECT_TRUE(at::equal(files.read(name, {{127, 0}, {129, 130}}), expected("rows", folder)));
}

TEST_F(Float8Weights, AreTheirValuesWhereNothingHasScales) {
  const ModelFiles files(disk_, golden_folder_of("float8_without_scales"));

  EXPECT_TRUE(
      at::allclose(files.read("w"), expected("w", "float8_without_scales"), 0, 0, /*equal_nan=*/true));
}

// Taken as they are, such weights would be hundreds of times too large.
TEST_F(Float8Weights, WithoutTheirScalesAmongOthersAreRefused) {
  const test::Scratch scratch;
  std::string bytes;
  { bytes = test::text_of_file(golden_folder_of("float8") + "/model.safetensors"); }
  const auto at = bytes.find("edges.weight_scale_inv");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "other");
  std::ofstream(scratch.path() + "/model.safetensors", std::ios::binary) << bytes;
  std::filesystem::copy(golden_folder_of("float8") + "/config.json", scratch.path() + "/config.json");

  EXPECT_THAT(error_of([&] { ModelFiles(disk_, scratch.path()); }),
              AllOf(HasSubstr("scales are missing"), HasSubstr("\"edges.weight\"")));
}

TEST_F(Float8Weights, AreRoundedOnceToAnotherType) {
  const ModelFiles files(disk_, golden_folder_of("float8"), Dtype::bfloat16);

  EXPECT_TRUE(at::equal(files.read("edges.weight"), expected("edges.weight").to(at::kBFloat16)));
}

TEST_F(Float8Weights, AreSaidAndTheirScalesHaveNoNames) {
  const ModelFiles files(disk_, golden_folder_of("float8"));

  EXPECT_FALSE(files.names().contains("edges.weight_scale_inv"));
  EXPECT_FALSE(files.names().contains("one.input_scale"));
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_THAT(files.notes().front(), HasSubstr("holds 6 tensors of 8 bits (F8_E4M3), with scales"));
}

// Against torch's float8_e5m2, every value there is.
TEST_F(Float8Weights, OfF8E5M2AreThoseOfTorch) {
  const test::Scratch scratch;
  std::string header = R"({"w":{"dtype":"F8_E5M2","shape":[16,16],"data_offsets":[0,256]}})";
  const std::uint64_t length = header.size();
  std::ofstream file(scratch.path() + "/model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  const at::Tensor bytes = at::arange(256, at::kByte).view({16, 16});
  file.write(static_cast<const char*>(bytes.const_data_ptr()), 256);
  file.close();

  const ModelFiles files(disk_, scratch.path());

  const at::Tensor expected = bytes.view(at::kFloat8_e5m2).to(at::kFloat);
  EXPECT_TRUE(at::allclose(files.read("w"), expected, 0, 0, /*equal_nan=*/true));
  EXPECT_TRUE(at::equal(files.read("w").isinf(), expected.isinf()));
  EXPECT_THAT(files.notes().front(), HasSubstr("holds 1 tensor of 8 bits (F8_E5M2), without scales"));
  EXPECT_THAT(error_of([&] { SafetensorsReader(disk_, scratch.path() + "/model.safetensors"); }),
              HasSubstr("F8_E5M2"));
}

// Whoever does not know about scales would take the bytes for numbers.
TEST_F(Float8Weights, AreRefusedInFilesOfOthers) {
  const std::string file = golden_folder_of("float8") + "/model.safetensors";

  EXPECT_THAT(error_of([&] { SafetensorsReader(disk_, file); }), HasSubstr("F8_E4M3"));
}

TEST(ScaleBlocks, FitBothShapesOrAreNone) {
  const Shape usual{128, 128};

  EXPECT_EQ(scale_blocks({300, 130}, {3, 2}, {}), (ScaleBlocks{128, 128}));
  EXPECT_EQ(scale_blocks({300, 130}, {3, 2}, usual), (ScaleBlocks{128, 128}));
  EXPECT_EQ(scale_blocks({300, 130}, {5, 5}, {64, 32}), (ScaleBlocks{64, 32}));
  EXPECT_EQ(scale_blocks({8, 64}, {8, 2}, {1, 32}), (ScaleBlocks{1, 32}));
  EXPECT_EQ(scale_blocks({8, 64}, {}, usual), (ScaleBlocks{8, 64}));
  EXPECT_EQ(scale_blocks({8, 64}, {1}, usual), (ScaleBlocks{8, 64}));
  EXPECT_EQ(scale_blocks({8, 64}, {8}, usual), (ScaleBlocks{1, 64}));
  EXPECT_FALSE(scale_blocks({300, 130}, {4, 7}, usual));
  EXPECT_FALSE(scale_blocks({8, 64}, {9}, usual));
  EXPECT_FALSE(scale_blocks({2, 8, 64}, {3, 1, 1}, usual));
}

}  // namespace
}  // namespace d9d
