#include "runtime/state/disk/disk_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "runtime/state/disk/watched_disk.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// Writes wait until the test lets them go on.
class HangingDisk final : public test::QuickDisk {
 public:
  std::promise<void> go_on;

 private:
  void before_write(std::size_t) override { go_on.get_future().wait(); }
};

TEST(DiskWatch, ReportsTheCallThatDoesNotReturnOnceWithItsPath) {
  const test::Scratch scratch;
  HangingDisk hanging;
  std::promise<std::string> report;
  DiskWatch watch(milliseconds(50), [&](const std::string& text) {
    report.set_value(text);
    hanging.go_on.set_value();
  });
  WatchedDisk disk(hanging, watch);
  const auto file = disk.create(scratch / "shard");

  file->write(0, "x", 1);

  EXPECT_THAT(report.get_future().get(), AllOf(HasSubstr("the disk hangs: the call to write " +
                                                         scratch.path() + "/shard has not returned"),
                                               HasSubstr("node.disk_timeout")));
}

TEST(DiskWatch, SaysNothingOfCallsThatReturn) {
  const test::Scratch scratch;
  test::QuickDisk plain;
  std::atomic<int> reports = 0;
  {
    DiskWatch watch(std::chrono::hours(1), [&](const std::string&) { ++reports; });
    WatchedDisk disk(plain, watch);
    write_text(disk, scratch / "file", "text");
    EXPECT_EQ(read_text(disk, scratch / "file", 100), "text");
    EXPECT_TRUE(disk.exists(scratch / "file"));
    EXPECT_EQ(disk.list(scratch.path()).size(), 1U);
    disk.remove_all(scratch / "file");
  }
  EXPECT_EQ(reports, 0);
}

}  // namespace
}  // namespace d9d
