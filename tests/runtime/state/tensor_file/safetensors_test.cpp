#include "runtime/state/tensor_file/safetensors.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "runtime/tensor/torch_dtype.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using testing::HasSubstr;

const std::string golden = D9D_SOURCE_DIR "/tests/golden/state_safetensors/expect.safetensors";

TEST(Safetensors, ReadsEveryTypeThatTheReferenceLibraryWrites) {
  const SafetensorsReader reader(PosixDisk(), golden);
  const auto values = counting({2, 3, 4}, at::kLong) * 3;

  for (const auto type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar}) {
    const auto name = spec_of("", at::empty({0}, type)).dtype;
    EXPECT_TRUE(same(reader.read(std::string(safetensors_name(name))), (values - 5).to(type)))
        << safetensors_name(name);
  }
  EXPECT_TRUE(same(reader.read("U8"), values.to(at::kByte)));
  EXPECT_TRUE(same(reader.read("BOOL"), (counting({2, 3, 4}, at::kLong) % 3) == 0));
  EXPECT_EQ(reader.read("scalar").item<float>(), 2.5F);
  EXPECT_EQ(reader.read("scalar").dim(), 0);
  EXPECT_EQ(reader.read("empty").sizes(), at::IntArrayRef({0, 4}));
  EXPECT_EQ(reader.read("name with \"quotes\" and \u00fc").item<std::int64_t>(), 7);
  EXPECT_EQ(reader.header().metadata.at("note"), "golden");
  EXPECT_EQ(reader.names().size(), 13U);
}

TEST(Safetensors, ReadsBackBitForBitWhatItWrote) {
  const test::Scratch scratch;
  PosixDisk disk;
  const TensorMap tensors{{"flags", counting({3}, at::kBool)},
                          {"turned", counting({3, 5}).transpose(0, 1)},
                          {"half", counting({7}, at::kBFloat16)},
                          {"none", at::empty({4, 0})}};
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));

  SafetensorsWriter writer(disk, scratch / "a.safetensors", specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish(true);

  const SafetensorsReader reader(disk, scratch / "a.safetensors");
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(same(reader.read(name), tensor)) << name;
  EXPECT_EQ(reader.header().metadata.at("format"), "pt");
  EXPECT_EQ(reader.at("turned").offset % 8, 0U);
  EXPECT_EQ(reader.at("half").offset % 2, 0U);
}

TEST(Safetensors, ReadsAnySliceOfAnyTensor) {
  const test::Scratch scratch;
  PosixDisk disk;
  const auto tensor = counting({5, 4, 6}, at::kInt);
  SafetensorsWriter writer(disk, scratch / "a.safetensors", {spec_of("x", tensor)});
  writer.write("x", tensor);
  writer.finish(false);
  const SafetensorsReader reader(disk, scratch / "a.safetensors");

  for (std::int64_t code = 0; code < 5 * 4 * 6; ++code) {
    const auto i = code / 24, j = code / 6 % 4, k = code % 6;
    for (const Slice& slice :
         {Slice{{i, j, k}, {5, 4, 6}}, Slice{{0, 0, 0}, {i, j, k}}, Slice{{i, 0, k}, {i + 1, 4, k + 1}}})
      ASSERT_TRUE(same(reader.read("x", slice), slice_view(tensor, slice))) << to_text(slice);
  }
  const Slice some{{1, 1, 1}, {4, 2, 6}};
  EXPECT_TRUE(same(reader.read("x", some, at::kDouble), slice_view(tensor, some).to(at::kDouble)));
}

TEST(Safetensors, ReadsOnlyTheBytesOfTheSlice) {
  const test::Scratch scratch;
  test::CountingDisk disk;
  const auto tensor = counting({64, 40000});
  SafetensorsWriter writer(disk, scratch / "a.safetensors", {spec_of("x", tensor)});
  writer.write("x", tensor);
  writer.finish(false);
  const SafetensorsReader reader(disk, scratch / "a.safetensors");
  const auto before = disk.bytes_read();

  const Slice rows{{8, 0}, {16, 40000}};
  const Slice columns{{0, 20000}, {64, 30000}};
  EXPECT_TRUE(same(reader.read("x", rows), slice_view(tensor, rows)));
  EXPECT_EQ(disk.bytes_read() - before, 8U * 40000 * 4);
  EXPECT_TRUE(same(reader.read("x", columns), slice_view(tensor, columns)));
  EXPECT_EQ(disk.bytes_read() - before, 8U * 40000 * 4 + 64U * 10000 * 4);
}

TEST(Safetensors, RefusesSlicesAndNamesThatAreNotThere) {
  const SafetensorsReader reader(PosixDisk(), golden);

  EXPECT_THAT(error_of([&] { reader.read("G64"); }), HasSubstr("no tensor \"G64\""));
  EXPECT_THAT(error_of([&] { reader.read("F32", Slice{{0}, {1}}); }), HasSubstr("1 dims"));
  EXPECT_THAT(error_of([&] { reader.read("F32", Slice{{0, 0, 0}, {2, 3, 5}}); }), HasSubstr("dim 2"));
}

TEST(Safetensors, WriterInsistsOnWhatWasAnnounced) {
  const test::Scratch scratch;
  PosixDisk disk;
  SafetensorsWriter writer(disk, scratch / "a.safetensors",
                           {{"x", Dtype::float32, {2}}, {"y", Dtype::float32, {2}}});

  EXPECT_THAT(error_of([&] { writer.write("z", counting({2})); }), HasSubstr("not announced"));
  EXPECT_THAT(error_of([&] { writer.write("x", counting({3})); }),
              HasSubstr("announced as [2] and comes as [3]"));
  writer.write("x", counting({2}));
  EXPECT_THAT(error_of([&] { writer.write("x", counting({2})); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { writer.finish(false); }), HasSubstr("\"y\""));
  EXPECT_THAT(
      error_of([&] {
        SafetensorsWriter(disk, scratch / "b", {{"x", Dtype::float32, {2}}, {"x", Dtype::float32, {2}}});
      }),
      HasSubstr("twice"));
}

// onnxconverter-common 268: a weight beyond float16 would be infinite, and no word of it.
TEST(Safetensors, RefusesToMakeAFiniteValueInfinite) {
  test::Scratch folder;
  PosixDisk disk;
  const at::Tensor values = counting({4}, at::kFloat) * 20000.0F;
  const auto write = [&](at::ScalarType type, const at::Tensor& tensor) {
    SafetensorsWriter writer(disk, folder / "x.safetensors", {{"w", dtype_of(type), {4}}});
    writer.write("w", tensor);
  };

  EXPECT_NO_THROW(write(at::kHalf, values));
  EXPECT_NO_THROW(write(at::kBFloat16, values * 10));
  EXPECT_THAT(error_of([&] { write(at::kHalf, values * 2); }), HasSubstr("a value of \"w\" is beyond 65504"));
  EXPECT_NO_THROW(write(at::kHalf, values * INFINITY)) << "it was infinite before";
}

}  // namespace
}  // namespace d9d
