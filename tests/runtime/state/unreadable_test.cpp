// A checkpoint that cannot be read is not a damaged one.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using test::error_of;
using test::save;
using test::UnreadableDisk;
using testing::AllOf;
using testing::HasSubstr;

TEST(UnreadableCheckpoint, StopsTheSearchAndNamesTheFileAndTheReason) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {5, 10}) save(disk, scratch.path(), step);

  for (const int reason : {EACCES, EIO, ESTALE, ETIMEDOUT}) {
    for (const char* file : {"save-10/manifest.json", "save-10/rank-1.safetensors"}) {
      const UnreadableDisk unreadable(file, reason);

      const auto text =
          error_of([&] { newest_good_checkpoint(unreadable, scratch.path(), Check::contents); });

      EXPECT_THAT(text, AllOf(HasSubstr("save-10 cannot be read"), HasSubstr(file),
                              HasSubstr(std::generic_category().message(reason))));
    }
  }
}

TEST(UnreadableCheckpoint, AFolderOfCheckpointsThatCannotBeListedIsNoEmptyOne) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 5);
  const UnreadableDisk unreadable(scratch.path(), EACCES);

  EXPECT_THAT(error_of([&] { find_checkpoints(unreadable, scratch.path()); }),
              HasSubstr("Permission denied"));
}

TEST(UnreadableCheckpoint, OneThatIsOlderThanAGoodOneIsNotLookedAt) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {5, 10}) save(disk, scratch.path(), step);

  const auto choice = newest_good_checkpoint(UnreadableDisk("save-5/", EIO), scratch.path(), Check::contents);

  EXPECT_EQ(choice.checkpoint->step, 10U);
}

TEST(UnreadableCheckpoint, TheRealDiskTellsRefusalFromAbsence) {
  const test::Scratch scratch;
  const PosixDisk disk;
  const std::string too_long = scratch / std::string(5000, 'x');

  EXPECT_FALSE(disk.exists(scratch / "nothing"));
  EXPECT_THAT(error_of([&] { (void)disk.exists(too_long); }), HasSubstr("File name too long"));
  try {
    disk.open(too_long);
    FAIL();
  } catch (const DiskError& error) {
    EXPECT_EQ(error.error_number(), ENAMETOOLONG);
    EXPECT_FALSE(error.is_missing());
  }
}

TEST(Rotation, NeitherCountsNorRemovesWhatIsDamagedOrAnothers) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {5, 10, 15, 20}) save(disk, scratch.path(), step);
  disk.make_directories(scratch / "save-99");
  disk.remove_all(scratch / "save-20/rank-0.safetensors");
  disk.remove_all(scratch / "save-5/manifest.json");

  const auto removed = rotate_checkpoints(disk, scratch.path(), 1);

  EXPECT_EQ(removed, (std::vector<std::string>{"save-10"}));
  EXPECT_EQ(test::steps_in(disk, scratch.path()), (std::vector<std::uint64_t>{99, 20, 15, 5}));
}

TEST(Rotation, LeavesWhatCannotBeRead) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {5, 10, 15}) save(disk, scratch.path(), step);
  UnreadableDisk unreadable("save-10/", EIO);

  EXPECT_EQ(rotate_checkpoints(unreadable, scratch.path(), 1), (std::vector<std::string>{"save-5"}));
  EXPECT_TRUE(disk.exists(scratch / "save-10/manifest.json"));
}

}  // namespace
}  // namespace d9d
