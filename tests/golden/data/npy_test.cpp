#include "runtime/data/file/npy.hpp"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <iterator>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/data/file/npy_tensor.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

const std::filesystem::path golden_folder = std::string(D9D_SOURCE_DIR) + "/tests/golden/data";

std::vector<std::int64_t> integers(const NpyArray& array) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(array.num_elements()));
  array.read(0, out);
  return out;
}

std::string error_of(const std::filesystem::path& path) {
  return test::error_of([&] { const NpyArray array(path); }, ErrorKind::input);
}

TEST(NpyGolden, ReadsEveryIntegerTypeThatNumpyWrites) {
  const std::vector<std::int64_t> grid{-2000, -1000, 0, 1000, 2000, 3000};

  EXPECT_EQ(integers(NpyArray(golden_folder / "int32.npy")), grid);
  EXPECT_EQ(integers(NpyArray(golden_folder / "int64.npy")), grid);
  EXPECT_EQ(integers(NpyArray(golden_folder / "version2.npy")), grid);
  EXPECT_EQ(integers(NpyArray(golden_folder / "uint16.npy")), (std::vector<std::int64_t>{0, 1, 65535}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "uint32.npy")), (std::vector<std::int64_t>{0, 4294967295}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "int8.npy")), (std::vector<std::int64_t>{-128, 0, 127}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "uint8.npy")), (std::vector<std::int64_t>{0, 255}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "int16.npy")), (std::vector<std::int64_t>{-32768, 32767}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "uint64.npy")), (std::vector<std::int64_t>{0, INT64_MAX}));
  EXPECT_EQ(integers(NpyArray(golden_folder / "scalar.npy")), (std::vector<std::int64_t>{-7}));
}

TEST(NpyGolden, ReadsShapesOfAnyRank) {
  using Shape = std::vector<std::int64_t>;

  EXPECT_EQ(NpyArray(golden_folder / "int32.npy").shape(), (Shape{2, 3}));
  EXPECT_EQ(NpyArray(golden_folder / "uint16.npy").shape(), (Shape{3}));
  EXPECT_EQ(NpyArray(golden_folder / "uint32.npy").shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(NpyArray(golden_folder / "scalar.npy").shape(), Shape{});
  EXPECT_EQ(NpyArray(golden_folder / "empty.npy").shape(), (Shape{0, 4}));
}

TEST(NpyGolden, ReadsTensorsAsInt64OrFloat32) {
  const at::Tensor whole = load_npy(golden_folder / "int32.npy");
  const at::Tensor real = load_npy(golden_folder / "float64.npy");

  ASSERT_EQ(whole.scalar_type(), at::kLong);
  ASSERT_EQ(real.scalar_type(), at::kFloat);
  EXPECT_EQ(whole.sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(whole.const_data_ptr<std::int64_t>()[5], 3000);
  EXPECT_EQ(real.const_data_ptr<float>()[0], -500.0F);
}

// Other tests make their files by npy_bytes().
TEST(NpyGolden, FilesOfTestsHaveTheBytesThatNumpyWrites) {
  const std::map<std::string, std::string> descr{{"int32", "<i4"},   {"int64", "<i8"},  {"float32", "<f4"},
                                                 {"float64", "<f8"}, {"uint32", "<u4"}, {"scalar", "<i8"},
                                                 {"empty", "<i8"}};
  for (const auto& [name, type] : descr) {
    const NpyArray array(golden_folder / (name + ".npy"));
    const std::span<const std::byte> bytes = array.bytes();
    const std::string elements(reinterpret_cast<const char*>(bytes.data()), bytes.size());

    EXPECT_EQ(test::npy_bytes(type, array.shape(), elements), test::text_of_file(array.path())) << name;
  }
}

TEST(NpyGolden, RefusesWhatItDoesNotReadByName) {
  EXPECT_THAT(error_of(golden_folder / "fortran.npy"), HasSubstr("Fortran order"));
  EXPECT_THAT(error_of(golden_folder / "big_endian.npy"), HasSubstr("\">i4\""));
  EXPECT_THAT(error_of(golden_folder / "version3.npy"), HasSubstr("version 3.0"));
  EXPECT_THAT(error_of(golden_folder / "make.py"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(golden_folder / "absent.npy"), HasSubstr("cannot open"));
}

}  // namespace
}  // namespace d9d
