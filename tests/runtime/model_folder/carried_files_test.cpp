#include "runtime/model_folder/carried_files.hpp"

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(CarriedFiles, AreNeitherWeightsNorHiddenNorRead) {
  const test::TemporaryFolder folder;
  for (const char* name : {"LICENSE", "README.md", "model.safetensors", "model.safetensors.index.json",
                           "old.bin", ".gitattributes", "config.json"})
    folder.write(name, name);
  folder.write("large.png", std::string(100, 'x'));
  PosixDisk disk;
  disk.make_directories((folder.path() / "assets").string());

  const CarriedFiles carried = carried_files_in(disk, folder.path().string(), {"config.json"}, 50);

  EXPECT_THAT(carried.contents, ElementsAre(Pair("LICENSE", "LICENSE"), Pair("README.md", "README.md")));
  EXPECT_THAT(carried.too_large, ElementsAre("large.png"));
  EXPECT_TRUE(carried_files_in(disk, (folder.path() / "none").string(), {}).contents.empty());
}

}  // namespace
}  // namespace d9d
