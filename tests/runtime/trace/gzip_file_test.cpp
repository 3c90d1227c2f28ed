#include "runtime/trace/gzip_file.hpp"

#include <gmock/gmock.h>

#include <istream>
#include <iterator>

#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::trace {
namespace {

using testing::HasSubstr;

std::size_t unpacked_size(const std::filesystem::path& path) {
  GzipReadBuffer buffer(path);
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);
  std::size_t size = 0;
  char bytes[4096];
  do {
    stream.read(bytes, sizeof bytes);
    size += static_cast<std::size_t>(stream.gcount());
  } while (stream.good());
  return size;
}

TEST(GzipFile, IsReadAsItWasWritten) {
  const test::TemporaryFolder folder;
  GzipWriter writer(folder / "a.gz");
  for (int i = 0; i < 100'000; ++i) writer.write(std::to_string(i * 7919));
  writer.finish();

  EXPECT_GT(unpacked_size(folder / "a.gz"), 500'000U);
}

// Zeros are packed to a thousandth of their length.
TEST(GzipFile, ThatUnpacksToFarMoreThanATraceIsRefused) {
  const test::TemporaryFolder folder;
  GzipWriter writer(folder / "bomb.gz");
  const std::string zeros(1 << 20, '0');
  for (int i = 0; i < 64; ++i) writer.write(zeros);
  writer.finish();
  ASSERT_LT(std::filesystem::file_size(folder / "bomb.gz"), 100'000U);

  EXPECT_THAT(test::error_of([&] { unpacked_size(folder / "bomb.gz"); }, ErrorKind::input),
              HasSubstr("more than 64 times as many"));
}

}  // namespace
}  // namespace d9d::trace
