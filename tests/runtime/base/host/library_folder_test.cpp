#include "runtime/base/host/library_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace d9d {
namespace {

// This program is linked with the code, so its own folder is meant.
TEST(LibraryFolder, IsThatOfTheProgramThatHasTheCode) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");

  EXPECT_EQ(path_beside_this_library("libabsent.so"), (program.parent_path() / "libabsent.so").string());
}

}  // namespace
}  // namespace d9d
