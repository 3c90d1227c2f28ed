#include "runtime/data/file/npy.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/file/npy_header.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::string npy_error(const std::string& path) {
  return test::error_of([&] { const NpyArray array(path); }, ErrorKind::input);
}

// A version 1 file with this header text and so many bytes of data.
std::string file_with(const std::string& header, std::size_t data_bytes) {
  std::string out = std::string("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(data_bytes, '\0');
}

TEST(Npy, RefusesAFileThatIsCutShortAnywhere) {
  const Folder folder;
  const std::string whole = file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24);
  ASSERT_EQ(npy_error(folder.write("whole.npy", whole)), "no error");

  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(npy_error(folder.write("cut.npy", whole.substr(0, bytes))), "no error") << bytes;
  }
  EXPECT_THAT(npy_error(folder.write("long.npy", whole + "x")),
              HasSubstr("says 24 bytes of data, the file has 25"));
}

TEST(Npy, RefusesASizeThatDoesNotFitInMemory) {
  const Folder folder;
  const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }";

  EXPECT_THAT(npy_error(folder.write("huge.npy", file_with(header, 8))),
              HasSubstr("says more bytes of data than any file can have, the file has 8; it is damaged"));
}

TEST(Npy, AnArrayWithAnEmptyDimensionHasNoBytesHoweverLargeTheOthersAre) {
  const Folder folder;
  const std::string header =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }";

  EXPECT_EQ(npy_error(folder.write("none.npy", file_with(header, 0))), "no error");
}

// numpy.save of an array of bool.
TEST(Npy, ReadsBooleansAsNoughtAndOne) {
  const Folder folder;
  std::string file = file_with("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3);
  file[file.size() - 2] = 1;
  const NpyArray array(folder.write("flags.npy", file));

  std::vector<std::int64_t> values(3);
  array.read(0, values);

  EXPECT_THAT(values, testing::ElementsAre(0, 1, 0));
  EXPECT_FALSE(is_integer(array.type()));
  EXPECT_FALSE(is_float(array.type()));
}

TEST(Npy, ReadsAHeaderWithOtherSpacesAndOrder) {
  const NpyHeader header = parse_npy_header("{\"shape\":(5,),'fortran_order':False,'descr':'<f4'}  \n");

  EXPECT_EQ(header.shape, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(header.descr, "<f4");
}

TEST(Npy, RefusesADamagedHeader) {
  for (const char* text :
       {"", "{", "{}", "{'descr': '<i4'}", "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': [('a', '<i4')], 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    EXPECT_THROW(parse_npy_header(text), Error) << text;
  }
}

TEST(Npy, ReadsIntegersOfEveryWidth) {
  const Folder folder;
  for (const char* descr : {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"}) {
    const std::size_t bytes = static_cast<std::size_t>(descr[2] - '0');
    const std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,), }}", descr);
    std::string file = file_with(header, 2 * bytes);
    file[file.size() - bytes] = '\x07';
    for (std::size_t i = 0; i < bytes; ++i) file[file.size() - 2 * bytes + i] = '\xFF';
    std::vector<std::int64_t> out(2);

    NpyArray(folder.write("array.npy", file)).read(0, out);

    const bool negative = descr[1] == 'i' || bytes == 8;
    EXPECT_EQ(out[0], negative ? -1 : (std::int64_t{1} << 8 * bytes) - 1) << descr;
    EXPECT_EQ(out[1], 7) << descr;
  }
}

TEST(Npy, DoesNotReadRealNumbersAsTokens) {
  const Folder folder;
  const NpyArray array(
      folder.write("real.npy", file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4)));
  std::vector<std::int64_t> out(1);

  EXPECT_THROW(array.read(0, out), Error);
}

}  // namespace
}  // namespace d9d
