#include "runtime/launch/worker_process.hpp"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <thread>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

WorkerStart script(const std::string& text) {
  return {.program = "/bin/bash", .words = {"bash", "-c", text}};
}

int wait_for(WorkerProcess& process) {
  pollfd end{.fd = process.ended(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&end, 1, 60'000), 1);
  return process.code().value_or(-1);
}

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 256> piece{};
  pollfd source{.fd = descriptor, .events = POLLIN, .revents = 0};
  while (::poll(&source, 1, 60'000) == 1) {
    const ssize_t size = ::read(descriptor, piece.data(), piece.size());
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

TEST(WorkerProcess, HandsOverWhatItPrintsAndItsCode) {
  WorkerStart start = script("echo out $D9D_TEST; echo err >&2; exec false");
  start.environment = {{"D9D_TEST", "one two"}};
  WorkerProcess process(start);

  EXPECT_EQ(all_of(process.out()), "out one two\n");
  EXPECT_EQ(all_of(process.err()), "err\n");
  EXPECT_EQ(wait_for(process), 1);
  EXPECT_FALSE(process.signal_of_death());
}

TEST(WorkerProcess, ReportsThroughADescriptorThatAVariableNames) {
  WorkerStart start = script("echo ready >&$WHERE");
  start.reports_as = "WHERE";
  WorkerProcess process(start);

  EXPECT_EQ(all_of(process.report()), "ready\n");
  EXPECT_EQ(wait_for(process), 0);
}

TEST(WorkerProcess, SaysWhichSignalEndedIt) {
  WorkerProcess process(script("kill -SEGV $$"));

  EXPECT_EQ(wait_for(process), 128 + SIGSEGV);
  EXPECT_EQ(process.signal_of_death(), SIGSEGV);
  process.signal(SIGTERM);  // to nobody: the number may be another process's by now
}

TEST(WorkerProcess, HasEndedAlsoWhereSomebodyIgnoresTheEndsOfChildren) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  WorkerProcess process(script("exec true"));

  EXPECT_EQ(wait_for(process), 1) << "nobody knows";
  std::signal(SIGCHLD, before);
}

// To this thread, for its life: as what confines a container does.
bool forbid(int call, unsigned error) {
  std::array<sock_filter, 4> filter{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(WorkerProcess, NamesTheRemedyWhereTheKernelCannotWaitForIt) {
  for (const int error : {ENOSYS, EPERM}) {
    bool forbidden = false;
    std::string text;
    std::thread([&] {
      forbidden = forbid(SYS_pidfd_open, static_cast<unsigned>(error));
      if (forbidden)
        text = test::error_of([] { const WorkerProcess process(script("true")); }, ErrorKind::environment);
    }).join();
    if (!forbidden) GTEST_SKIP() << "nothing can be forbidden here";

    EXPECT_THAT(text,
                testing::AllOf(testing::HasSubstr("pidfd_open"), testing::EndsWith("set node.processes: 1")));
  }
}

TEST(WorkerProcess, HasAGroupOfItsOwn) {
  WorkerProcess process(script("exec cat /dev/zero > /dev/null"));

  EXPECT_EQ(::getpgid(process.pid()), process.pid());
  EXPECT_FALSE(process.code());
}

TEST(WorkerProcess, EndsWithItsOwner) {
  pid_t pid = -1;
  {
    const WorkerProcess process(script("trap '' TERM; exec cat /dev/zero > /dev/null"));
    pid = process.pid();
  }

  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(WorkerProcess, OfAProgramThatIsNotThereSaysSoAndEndsWithTheShellsCode) {
  WorkerProcess process({.program = "/nowhere/d9d-node", .words = {"d9d-node"}});

  EXPECT_EQ(all_of(process.err()), "cannot execute /nowhere/d9d-node: No such file or directory\n");
  EXPECT_EQ(wait_for(process), 127);
}

}  // namespace
}  // namespace d9d
