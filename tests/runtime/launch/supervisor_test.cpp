// With shells for workers. Signals to the supervisor itself: tests/e2e/process/workers_test.cpp.
#include "runtime/launch/supervisor.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <csignal>
#include <iterator>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What every worker runs: `first` in worker 0, which then says that the others may come, and `rest` in these.
std::string script(const std::string& first, const std::string& rest) {
  return "if [ ${D9D_WORKER%%/*} = 0 ]; then " + first + "; else " + rest + "; fi";
}
// Until it is killed, or a minute.
const std::string waits = "exec {own}<> <(:); read -t 60 line <&$own";
const std::string ready = "echo 127.0.0.1:7 >&$D9D_WORKER_REPORT; exec {D9D_WORKER_REPORT}>&-; ";

class Supervised : public testing::Test {
 protected:
  int run(const std::string& text, std::chrono::nanoseconds grace = std::chrono::seconds(60)) {
    const std::string path = folder_ / "printed";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int code = supervise({.program = "/bin/bash",
                                .words = {"bash", "-c", text},
                                .workers = {"rank 0", "rank 1", "rank 2"},
                                .command = 99,
                                .grace = grace,
                                .out = file,
                                .err = file},
                               clock_);
    ::close(file);
    printed_ = test::text_of_file(path);
    return code;
  }

  test::TemporaryFolder folder_;
  const SystemClock clock_;
  std::string printed_;  // by all but the first
};

TEST_F(Supervised, AreStartedWithTheirPlaceAndTheAddressOfNode0) {
  EXPECT_EQ(run(script(ready + "true", "echo $D9D_WORKER; echo -n no end >&2")), 0);

  EXPECT_THAT(printed_, HasSubstr("[worker 1] 1/3/99/127.0.0.1:7\n"));
  EXPECT_THAT(printed_, HasSubstr("[worker 2] 2/3/99/127.0.0.1:7\n"));
  EXPECT_THAT(printed_, HasSubstr("[worker 1] no end\n"));
}

TEST_F(Supervised, OthersAreNotStartedWhereTheFirstFindsTheJobWrong) {
  EXPECT_EQ(run(script("exec bash -c 'exit 2'", "echo here")), 2);

  EXPECT_EQ(printed_, "");
}

TEST_F(Supervised, AreNamedWhereTheyCannotBeStartedAlsoTheFirst) {
  for (const auto& [text, who] : {std::pair(script("exec /nowhere", "true"), "error worker 0 of 3 (rank 0;"),
                                  std::pair(script(ready + waits, "exec /nowhere"), "error worker 1 of 3")}) {
    testing::internal::CaptureStderr();

    EXPECT_EQ(run(text, std::chrono::milliseconds(100)), 127);

    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr(who), HasSubstr("ended with exit code 127: bash cannot be executed")));
  }
}

TEST_F(Supervised, EndWithTheCodeOfTheFirstThatFailed) {
  const std::string rest = "[ ${D9D_WORKER%%/*} = 1 ] && kill -KILL $$; " + waits;

  EXPECT_EQ(run(script(ready + waits, rest), std::chrono::milliseconds(100)), 128 + SIGKILL);
}

TEST_F(Supervised, AreKilledWhenTheyDoNotEndAfterAFailure) {
  const std::string deaf = "trap '' TERM; " + waits;

  EXPECT_EQ(run(script(ready + "exec bash -c 'exit 7'", deaf), std::chrono::milliseconds(1)), 7);
}

TEST_F(Supervised, EndWithTheirCodeAlsoWhereTheCommandInheritsThatChildrenAreIgnored) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);

  EXPECT_EQ(run(script("exec bash -c 'exit 7'", "true")), 7);

  EXPECT_EQ(std::signal(SIGCHLD, before), SIG_IGN) << "it is as it was";
}

TEST_F(Supervised, DoNotSeeTheReportOfTheFirst) {
  EXPECT_EQ(run(script(ready + "true", "echo \"report: $D9D_WORKER_REPORT.\"")), 0);

  EXPECT_THAT(printed_, HasSubstr("report: ."));
  EXPECT_THAT(printed_, Not(HasSubstr("error")));
}

}  // namespace
}  // namespace d9d
