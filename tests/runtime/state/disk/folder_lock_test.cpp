#include "runtime/state/disk/folder_lock.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/lock_text.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr LockTimes quick_times{.heartbeat = milliseconds(20), .silence_max = milliseconds(200)};

class FolderLockTest : public testing::Test {
 protected:
  static LockHolder me(const std::string& tag = "mine") { return LockHolder::this_process("tiny", tag); }
  // As the process of another host would have written it.
  static LockHolder stranger() {
    LockHolder holder = me("other");
    holder.host = "far-away";
    holder.machine = "another";
    holder.run = "theirs";
    return holder;
  }
  // In one moment, as jobs do.
  void leave_lock(const LockHolder& holder) const {
    const std::string written = lock() + ".written";
    std::ofstream(written) << to_text(holder);
    std::filesystem::rename(written, lock());
  }
  void touch() const { ASSERT_EQ(::utimensat(AT_FDCWD, lock().c_str(), nullptr, 0), 0); }
  void age(std::chrono::seconds by) const {
    std::filesystem::last_write_time(lock(), std::filesystem::file_time_type::clock::now() - by);
  }
  std::string lock() const { return folder / lock_name; }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  const test::Scratch folder;
};

// A process that is killed while it takes the lock leaves the text it would have linked.
TEST_F(FolderLockTest, RemovesWhatKilledProcessesLeftBesideIt) {
  LockHolder dead = me("dead");
  dead.started = "1";
  std::ofstream(lock() + ".dead") << to_text(dead);
  std::ofstream(lock() + ".other") << to_text(stranger());
  {
    const FolderLock held(folder.path(), me(), quick_times);
    EXPECT_EQ(files(), 2U) << "the lock, and what may be at work on another host";
  }
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(std::filesystem::exists(lock() + ".other"));
}

TEST_F(FolderLockTest, TellsWhoHasTheFolderAndIsGoneAtItsEnd) {
  {
    const FolderLock held(folder.path(), me(), quick_times);

    ASSERT_TRUE(holder_of(folder.path()).has_value());
    EXPECT_EQ(holder_of(folder.path())->tag, "mine");
    EXPECT_TRUE(is_held_here(folder.path()));
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
  EXPECT_FALSE(holder_of(folder.path()).has_value());
}

TEST_F(FolderLockTest, RefusesASecondJobAndNamesTheFirst) {
  const FolderLock held(folder.path(), me(), quick_times);

  const std::string text = error_of([&] { FolderLock(folder.path(), me("second"), quick_times); });

  EXPECT_THAT(text, AllOf(HasSubstr(folder.path() + " is in use by another job: run tiny, process " +
                                    std::to_string(::getpid()) + " on host " + me().host),
                          HasSubstr("output_dir")));
  EXPECT_EQ(holder_of(folder.path())->tag, "mine");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FolderLockTest, TakesOverFromAProcessThatIsGone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  LockHolder dead = me("dead");
  dead.pid = child;
  dead.started = start_of_process(child).value_or("1");
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  leave_lock(dead);

  const FolderLock held(folder.path(), me(), quick_times);

  EXPECT_EQ(holder_of(folder.path())->tag, "mine");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FolderLockTest, TakesOverWhereThePidBelongsToAnotherProcessNow) {
  LockHolder earlier = me("earlier");
  earlier.started = "1";
  leave_lock(earlier);

  EXPECT_NO_THROW(FolderLock(folder.path(), me(), quick_times));
}

TEST_F(FolderLockTest, RefusesTheLockOfAnotherHostAsSoonAsItIsRefreshed) {
  leave_lock(stranger());
  std::atomic<bool> over = false;
  std::thread far_away([&] {
    while (!over) touch(), std::this_thread::yield();
  });

  // With the minute that silence may last: a busy machine may let the other host wait.
  const std::string text =
      error_of([&] { FolderLock(folder.path(), me(), {.heartbeat = quick_times.heartbeat}); });

  over = true;
  far_away.join();
  EXPECT_THAT(text, HasSubstr("run theirs, process"));
  EXPECT_THAT(text, HasSubstr("on host far-away"));
}

TEST_F(FolderLockTest, TakesOverTheLockOfAnotherHostThatNobodyRefreshes) {
  leave_lock(stranger());
  age(std::chrono::hours(1));

  const FolderLock held(folder.path(), me(), quick_times);

  EXPECT_EQ(holder_of(folder.path())->tag, "mine");
}

TEST_F(FolderLockTest, TakesOverAFileThatSaysNothingOnceItIsOld) {
  std::ofstream(lock()) << "{\"pid\": \"x\"";
  age(std::chrono::hours(1));

  EXPECT_NO_THROW(FolderLock(folder.path(), me(), quick_times));
}

TEST_F(FolderLockTest, IsRefreshedWhileItIsHeld) {
  const FolderLock held(folder.path(), me(), quick_times);
  age(std::chrono::hours(1));
  const auto old = std::filesystem::last_write_time(lock());

  // Ends when it is refreshed.
  while (std::filesystem::last_write_time(lock()) == old) std::this_thread::yield();

  EXPECT_TRUE(is_held_here(folder.path()));
}

TEST_F(FolderLockTest, DoesNotRemoveTheLockOfWhoeverTookItOver) {
  {
    const FolderLock held(folder.path(), me(), {.heartbeat = std::chrono::hours(1)});
    leave_lock(stranger());
  }

  EXPECT_EQ(holder_of(folder.path())->tag, "other");
}

TEST_F(FolderLockTest, SaysOnceWhenItIsGoneOrAnothers) {
  for (const bool anothers : {false, true}) {
    std::promise<std::string> lost;
    const FolderLock held(folder.path(), me(), quick_times, nullptr,
                          [&](const std::string& report) { lost.set_value(report); });
    ASSERT_FALSE(loss_of(folder.path(), "mine").has_value());
    if (anothers)
      leave_lock(stranger());
    else
      std::filesystem::remove(lock());

    EXPECT_THAT(lost.get_future().get(), HasSubstr(anothers ? "taken over by another job (run theirs, process"
                                                            : "job.lock is gone: the folder was moved"));
    EXPECT_TRUE(loss_of(folder.path(), "mine").has_value());
  }
}

TEST_F(FolderLockTest, OfManyThatTryAtOnceExactlyOneHasIt) {
  LockHolder dead = me("dead");
  dead.started = "1";
  leave_lock(dead);
  std::atomic<int> taken = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 8; ++i)
    all.emplace_back([&, i] {
      std::optional<FolderLock> mine;
      try {
        mine.emplace(folder.path(), me("starter-" + std::to_string(i)), quick_times);
        ++taken;
      } catch (const Error&) {
      }
      ++done;
      while (done < 8) std::this_thread::yield();
    });
  for (auto& one : all) one.join();

  EXPECT_EQ(taken, 1);
}

TEST_F(FolderLockTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([&] { FolderLock(folder / "nowhere", me(), quick_times); }),
              HasSubstr("nowhere/job.lock"));
}

}  // namespace
}  // namespace d9d
