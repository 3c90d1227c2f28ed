#include "actors/core/file_mapped_at.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "runtime/base/file/mapped_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

TEST(FileMappedAt, IsTheFileThatAMappingIsOf) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "with a blank.bin";
  std::ofstream(path) << std::string(10'000, 'x');
  const MappedFile file(path);
  std::array<char, 512> name{};

  const auto address = reinterpret_cast<std::uintptr_t>(file.bytes().data());
  EXPECT_EQ(file_mapped_at(address + 9'000, name), path.string());
  EXPECT_EQ(file_mapped_at(reinterpret_cast<std::uintptr_t>(&name), name), "");
  EXPECT_EQ(file_mapped_at(0, name), "");
}

}  // namespace
}  // namespace d9d
