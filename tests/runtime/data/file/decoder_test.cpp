#include "runtime/data/file/decoder.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

using namespace std::string_view_literals;

// The first bytes as RFC 1952, RFC 8878, the xz format and bzip2's manual have them.
TEST(Decoder, IsChosenByTheFirstBytes) {
  EXPECT_EQ(compression_of("\x1f\x8b\x08\0"sv), Compression::gzip);
  EXPECT_EQ(compression_of("\x28\xb5\x2f\xfd"sv), Compression::zstd);
  EXPECT_EQ(compression_of("\x51\x2a\x4d\x18"sv), Compression::zstd);
  EXPECT_EQ(compression_of("BZh91AY&SY"sv), Compression::bzip2);
  EXPECT_EQ(compression_of("\xfd\x37zXZ\0"sv), Compression::xz);
  EXPECT_EQ(compression_of("BZhou is a name"sv), Compression::none);
  EXPECT_EQ(compression_of("{}"sv), Compression::none);
  EXPECT_EQ(compression_of(""sv), Compression::none);
}

}  // namespace
}  // namespace d9d
