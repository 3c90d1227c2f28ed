#include "runtime/state/weights/mxfp4.hpp"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <fstream>

#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

// The values of E2M1 by table 5 of the specification, in both halves of the bytes.
TEST(Mxfp4, HasTheValuesOfItsSpecification) {
  const std::array<float, 8> values{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  std::array<std::uint8_t, 16> block{};
  for (std::size_t i = 0; i < 16; ++i) block[i] = static_cast<std::uint8_t>(i | (15 - i) << 4);
  const std::uint8_t scale = 127 - 3;
  std::array<float, 32> found{};

  dequantise_mxfp4(block.data(), &scale, 1, found.data());

  for (std::size_t i = 0; i < 16; ++i) {
    for (const auto& [place, bits] : {std::pair{2 * i, i}, std::pair{2 * i + 1, 15 - i}}) {
      EXPECT_EQ(found[place], (bits < 8 ? values[bits] : -values[bits - 8]) / 8) << place;
      EXPECT_EQ(std::signbit(found[place]), bits >= 8) << place;
    }
  }
}

TEST(Mxfp4, HasScalesFromTheSmallestPowerToNotANumber) {
  std::array<std::uint8_t, 48> ones{};
  ones.fill(0x22);
  const std::array<std::uint8_t, 3> scales{0, 254, 255};
  std::array<float, 96> found{};

  dequantise_mxfp4(ones.data(), scales.data(), 3, found.data());

  EXPECT_EQ(found[0], std::ldexp(1.0F, -127));
  EXPECT_EQ(found[32], std::ldexp(1.0F, 127));
  EXPECT_TRUE(std::isnan(found[64]));
}

TEST(Mxfp4, ReadInAnyBoxIsThatOfTheWhole) {
  const PosixDisk disk;
  const ModelFiles files(disk, D9D_SOURCE_DIR "/tests/golden/folders/gpt_oss_mxfp4");
  const std::string name = "model.layers.1.mlp.experts.down_proj_blocks";  // [3, 32, 64]
  const at::Tensor all = files.read(name);

  EXPECT_EQ(all.sizes(), at::IntArrayRef({3, 32, 64}));
  for (const auto& [begin, end] : {std::pair{0, 64}, std::pair{0, 32}, std::pair{31, 33}, std::pair{5, 6}}) {
    const Slice box{{1, 3, begin}, {3, 9, end}};
    EXPECT_TRUE(
        at::equal(files.read(name, box), all.narrow(0, 1, 2).narrow(1, 3, 6).narrow(2, begin, end - begin)));
  }
  EXPECT_EQ(files.read(name, {{0, 4, 7}, {3, 4, 9}}).numel(), 0);
  EXPECT_FALSE(files.names().contains("model.layers.1.mlp.experts.down_proj_scales"));
  EXPECT_THAT(files.notes(), testing::ElementsAre(testing::HasSubstr("holds 4 tensors of 4 bits (MXFP4)")));
}

TEST(Mxfp4, WithoutItsScalesIsRefused) {
  const PosixDisk disk;
  const test::Scratch scratch;
  std::string bytes =
      test::text_of_file(D9D_SOURCE_DIR "/tests/golden/folders/gpt_oss_mxfp4/model.safetensors");
  bytes.replace(bytes.find("down_proj_scales"), 4, "over");
  std::ofstream(scratch.path() + "/model.safetensors", std::ios::binary) << bytes;

  EXPECT_THAT(
      test::error_of([&] { ModelFiles(disk, scratch.path()); }),
      testing::AllOf(testing::HasSubstr("down_proj_blocks"), testing::HasSubstr("with their scales")));
}

}  // namespace
}  // namespace d9d
