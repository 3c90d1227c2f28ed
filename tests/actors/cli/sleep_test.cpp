// What can be said without a job: to whom the commands speak. tests/e2e/process/sleep_test.cpp has jobs that sleep.
#include <gmock/gmock.h>

#include "actors/cli/running_commands.hpp"
#include "runtime/live/http_server.hpp"
#include "runtime/state/disk/folder_lock.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(SleepCommand, RefusesAFolderWithoutAJob) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(test::call(sleep_command(), {folder.path().string()}),
              test::is_refused("no job runs in " + folder.path().string() + ": it has no job.lock"));
}

TEST(SleepCommand, RefusesAJobOfAnotherHostAndSaysWhatToDo) {
  const test::TemporaryFolder folder;
  LockHolder holder = LockHolder::this_process("far", "tag");
  holder.machine = "another";
  holder.host = "elsewhere";
  const FolderLock lock(folder.path().string(), holder);

  const auto outcome = test::call(sleep_command(), {folder.path().string()});

  EXPECT_THAT(outcome, test::is_refused("runs on host elsewhere"));
  EXPECT_THAT(outcome.err, HasSubstr("node.status"));
}

TEST(SleepCommand, PostsToALivePage) {
  std::string told;
  const live::HttpServer server({.address = {"127.0.0.1", 0}, .key = "test"}, {},
                                {{"/wake", [&](const live::Caller&) {
                                    told = "wake";
                                    return live::HttpAnswer{202, "text/plain", "it wakes\n"};
                                  }}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());

  const auto woken = test::call(wake_command(), {address});
  const auto refused = test::call(sleep_command(), {address});

  EXPECT_EQ(woken.code, 0) << woken.err;
  EXPECT_EQ(woken.out, "it wakes\n");
  EXPECT_EQ(told, "wake");
  EXPECT_THAT(refused, test::fails("404 to POST /sleep"));
}

TEST(SleepCommand, RefusesWhatIsNeitherFolderNorAddress) {
  EXPECT_THAT(test::call(wake_command(), {"runs/tinny"}),
              test::is_refused("runs/tinny is no folder and no HOST:PORT"));
}

}  // namespace
}  // namespace d9d
