#include "runtime/state/checkpoint/held_folders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_watch.hpp"
#include "runtime/state/disk/folder_lock.hpp"
#include "runtime/state/disk/watched_disk.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t one_second = 1'000'000'000;

class HeldFoldersTest : public testing::Test {
 protected:
  void lose() const { std::filesystem::remove(folder / lock_name); }

  const test::Scratch folder;
  std::vector<std::string> reports;
  std::int64_t now = 100 * one_second;
  HeldFolders held{[this](const std::string& report) { reports.push_back(report); }, [this] { return now; }};
  // Nobody looks after this lock by itself.
  std::optional<FolderLock> lock{std::in_place, folder.path(), LockHolder::this_process("tiny", "mine"),
                                 LockTimes{.heartbeat = std::chrono::hours(10)}};
};

TEST_F(HeldFoldersTest, AreSilentWhileTheLockIsThere) {
  held.hold(folder.path(), "mine");

  held.check(true);

  EXPECT_THAT(reports, IsEmpty());
}

TEST_F(HeldFoldersTest, AreLostOnceWithTheLock) {
  held.hold(folder.path(), "mine");
  lose();

  held.check(true);
  held.check(true);

  EXPECT_THAT(reports, ElementsAre(HasSubstr("job.lock is gone")));
}

// Node 0 has ended and taken its lock along; the others are about to end as well.
TEST_F(HeldFoldersTest, OfAnotherNodeAreLostToAnotherJobOnly) {
  held.hold(folder.path(), "mine", HeldFolders::Lock::of_other);
  lose();
  held.check(true);
  EXPECT_THAT(reports, IsEmpty());

  const FolderLock others(folder.path(), LockHolder::this_process("theirs", "another"));
  held.check(true);
  EXPECT_THAT(reports, ElementsAre(HasSubstr("was taken over by another job (run theirs")));
}

TEST_F(HeldFoldersTest, AreReadOnceASecondUnlessAChangeOfNamesIsAtStake) {
  held.hold(folder.path(), "mine");
  held.check(false);
  lose();

  now += one_second - 1;
  held.check(false);
  EXPECT_THAT(reports, IsEmpty());

  now += 1;
  held.check(false);
  EXPECT_THAT(reports, testing::SizeIs(1));
}

TEST_F(HeldFoldersTest, AreNoMoreAskedForWhenTheyAreGivenBack) {
  held.hold(folder.path(), "mine");
  held.release_all();
  lose();

  held.check(true);
  held.lost("a late thread says so");

  EXPECT_THAT(reports, IsEmpty());
}

// What ends the process in a job is a throw here.
TEST_F(HeldFoldersTest, NothingIsMadeRenamedOrRemovedWithoutThem) {
  HeldFolders strict([](const std::string& report) { throw std::runtime_error(report); });
  strict.hold(folder.path(), "mine");
  DiskWatch watch(std::chrono::seconds(60), [](const std::string&) {});
  watch.set_before_call([&](DiskWatch::Access access) {
    if (access != DiskWatch::Access::read) strict.check(access == DiskWatch::Access::change);
  });
  PosixDisk plain;
  WatchedDisk disk(plain, watch);
  disk.make_directories(folder / "there");
  lose();

  EXPECT_TRUE(disk.exists(folder / "there"));
  EXPECT_ANY_THROW(disk.remove_all(folder / "there"));

  EXPECT_TRUE(std::filesystem::exists(folder / "there"));
}

}  // namespace
}  // namespace d9d
