#include "runtime/state/safetensors.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using testing::HasSubstr;

const std::string golden = D9D_SOURCE_DIR "/tests/golden/state_safetensors/expect.safetensors";

at::Tensor cut(const at::Tensor& tensor, const Slice& slice) {
  at::Tensor part = tensor;
  for (std::size_t d = 0; d < slice.begin.size(); ++d)
    part = part.narrow(static_cast<std::int64_t>(d), slice.begin[d], slice.end[d] - slice.begin[d]);
  return part;
}

// Counts what is read of a file.
class CountingDisk final : public Disk {
 public:
  std::unique_ptr<ReadFile> open(const std::string& path) const override {
    return std::make_unique<File>(real_.open(path), bytes_);
  }
  std::unique_ptr<WriteFile> create(const std::string& path) override { return real_.create(path); }
  void make_directories(const std::string& path) override { real_.make_directories(path); }
  void rename(const std::string& from, const std::string& to) override { real_.rename(from, to); }
  void sync_directory(const std::string& path) override { real_.sync_directory(path); }
  void remove_all(const std::string& path) override { real_.remove_all(path); }
  bool exists(const std::string& path) const override { return real_.exists(path); }
  std::vector<DirectoryEntry> list(const std::string& path) const override { return real_.list(path); }

  std::uint64_t bytes() const { return bytes_; }

 private:
  class File final : public ReadFile {
   public:
    File(std::unique_ptr<ReadFile> real, std::uint64_t& bytes) : real_(std::move(real)), bytes_(bytes) {}
    const std::string& path() const override { return real_->path(); }
    std::uint64_t size() const override { return real_->size(); }
    void read(std::uint64_t offset, void* into, std::size_t bytes) const override {
      bytes_ += bytes;
      real_->read(offset, into, bytes);
    }

   private:
    std::unique_ptr<ReadFile> real_;
    std::uint64_t& bytes_;
  };

  PosixDisk real_;
  mutable std::uint64_t bytes_ = 0;
};

TEST(Safetensors, ReadsEveryTypeThatTheReferenceLibraryWrites) {
  const SafetensorsReader reader(PosixDisk(), golden);
  const auto values = counting({2, 3, 4}, at::kLong) * 3;

  for (const auto type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar}) {
    const auto name = spec_of("", at::empty({0}, type)).dtype;
    EXPECT_TRUE(same(reader.read(std::string(name_of(name))), (values - 5).to(type))) << name_of(name);
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
      ASSERT_TRUE(same(reader.read("x", slice), cut(tensor, slice))) << to_text(slice);
  }
  const Slice some{{1, 1, 1}, {4, 2, 6}};
  EXPECT_TRUE(same(reader.read("x", some, at::kDouble), cut(tensor, some).to(at::kDouble)));
}

TEST(Safetensors, ReadsOnlyTheBytesOfTheSlice) {
  const test::Scratch scratch;
  CountingDisk disk;
  const auto tensor = counting({64, 40000});
  SafetensorsWriter writer(disk, scratch / "a.safetensors", {spec_of("x", tensor)});
  writer.write("x", tensor);
  writer.finish(false);
  const SafetensorsReader reader(disk, scratch / "a.safetensors");
  const auto before = disk.bytes();

  const Slice rows{{8, 0}, {16, 40000}};
  const Slice columns{{0, 20000}, {64, 30000}};
  EXPECT_TRUE(same(reader.read("x", rows), cut(tensor, rows)));
  EXPECT_EQ(disk.bytes() - before, 8U * 40000 * 4);
  EXPECT_TRUE(same(reader.read("x", columns), cut(tensor, columns)));
  EXPECT_EQ(disk.bytes() - before, 8U * 40000 * 4 + 64U * 10000 * 4);
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
  SafetensorsWriter writer(disk, scratch / "a.safetensors", {{"x", Dtype::f32, {2}}, {"y", Dtype::f32, {2}}});

  EXPECT_THAT(error_of([&] { writer.write("z", counting({2})); }), HasSubstr("not announced"));
  EXPECT_THAT(error_of([&] { writer.write("x", counting({3})); }),
              HasSubstr("announced as [2] and comes as [3]"));
  writer.write("x", counting({2}));
  EXPECT_THAT(error_of([&] { writer.write("x", counting({2})); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { writer.finish(false); }), HasSubstr("\"y\""));
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(disk, scratch / "b", {{"x", Dtype::f32, {2}}, {"x", Dtype::f32, {2}}});
              }),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace d9d
