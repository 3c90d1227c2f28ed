#include "runtime/base/file/digest.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

// FIPS 180-2, appendix B.1, and of nothing.
constexpr const char* of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Digest, IsSha256) {
  const Folder folder;

  EXPECT_EQ(sha256_of("abc"), of_abc);
  EXPECT_EQ(sha256_of(""), of_nothing);
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")), of_abc);
  EXPECT_EQ(sha256_of_file(folder.write("empty", "")), of_nothing);
}

}  // namespace
}  // namespace d9d
