#include "runtime/state/disk/folder_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(FolderProbe, MakesTheFolderAndLeavesItEmpty) {
  const test::Scratch scratch;
  test::QuickDisk disk;

  require_writable(disk, scratch / "a/b", "output_dir");

  EXPECT_TRUE(disk.list(scratch / "a/b").empty());
}

TEST(FolderProbe, RemovesWhatKilledProcessesLeft) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  std::ofstream(scratch / ".d9d-probe-123") << "x";
  std::ofstream(scratch / "mine") << "x";

  require_writable(disk, scratch.path(), "output_dir");

  ASSERT_EQ(disk.list(scratch.path()).size(), 1U);
  EXPECT_EQ(disk.list(scratch.path())[0].name, "mine");
}

TEST(FolderProbe, NamesKeyFolderAndReasonWhereAFileIsInTheWay) {
  const test::Scratch scratch;
  std::ofstream(scratch / "file") << "x";
  PosixDisk disk;

  for (const std::string& folder : {scratch / "file", scratch / "file/below"}) {
    EXPECT_THAT(error_of([&] { require_writable(disk, folder, "output_dir"); }),
                AllOf(HasSubstr("output_dir is " + folder), HasSubstr("Not a directory")));
    EXPECT_THAT(error_of([&] { require_creatable(disk, folder, "export_to"); }),
                AllOf(HasSubstr("export_to is " + folder), HasSubstr("Not a directory")));
  }
}

TEST(FolderProbe, AFullDiskIsFoundBeforeItIsNeeded) {
  const test::Scratch scratch;
  test::FullDisk disk(100);

  EXPECT_THAT(error_of([&] { require_writable(disk, scratch / "a", "output_dir"); }),
              AllOf(HasSubstr("output_dir is"), HasSubstr("No space left")));
  EXPECT_TRUE(disk.list(scratch / "a").empty()) << "and the probe is gone";
}

TEST(FolderProbe, WhatCanBeMadeLaterIsNotMadeNow) {
  const test::Scratch scratch;
  PosixDisk disk;

  require_creatable(disk, scratch / "a/b/c", "export_to");

  EXPECT_TRUE(disk.list(scratch.path()).empty());
}

}  // namespace
}  // namespace d9d
