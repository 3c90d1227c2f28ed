#include "runtime/trace/file/gzip_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <istream>
#include <iterator>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::trace {
namespace {

std::size_t bytes_in(const std::filesystem::path& path, std::uint64_t bytes_free) {
  GzipReadBuffer buffer(path, bytes_free);
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);
  return static_cast<std::size_t>(std::distance(std::istreambuf_iterator<char>(in), {}));
}

// deflate cannot do better than 1032 to 1, and text of a trace is far from that.
TEST(GzipFile, AFileThatUnpacksWithoutEndIsRefused) {
  const test::TemporaryFolder folder;
  const auto path = folder / "bomb.json.gz";
  GzipWriter writer(path, 9);
  for (int i = 0; i < 4096; ++i) writer.write(std::string(1024, ' '));
  writer.finish();

  EXPECT_THAT(test::error_of([&] { bytes_in(path, 1 << 20); }, ErrorKind::input),
              testing::HasSubstr("more than 300 times as long"));
  EXPECT_EQ(bytes_in(path, 4 << 20), 4U << 20);
}

}  // namespace
}  // namespace d9d::trace
