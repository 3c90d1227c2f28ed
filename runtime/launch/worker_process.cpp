#include "runtime/launch/worker_process.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/host/start_program.hpp"

namespace d9d {
namespace {

constexpr int signal_codes = 128;
constexpr int code_of_nobody_knows_what = 1;

[[noreturn]] void fail_to_start(const char* what) {
  throw Error(
      ErrorKind::environment,
      fmt::format("cannot start a worker process: {}: {}; are `ulimit -u` and `ulimit -n` large enough?",
                  what, std::strerror(errno)));
}

[[noreturn]] void fail_to_wait() {
  if (errno != ENOSYS && errno != EPERM) fail_to_start("pidfd_open");
  throw Error(
      ErrorKind::environment,
      fmt::format("cannot wait for a worker process: pidfd_open: {}; Linux has it since 5.3, and what "
                  "confines a container may forbid it: set node.processes: 1",
                  std::strerror(errno)));
}

// Ends that the parent reads; both are closed where the program begins.
struct Pipe {
  int reads = -1, writes = -1;

  void open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start("pipe");
    reads = ends[0];
    writes = ends[1];
    ::fcntl(reads, F_SETFL, O_NONBLOCK);
  }
  void close() const {
    if (reads >= 0) ::close(reads);
    if (writes >= 0) ::close(writes);
  }
};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : added) entries.push_back(name + "=" + value);
  return entries;
}

struct Become {
  const char* program;
  char* const* words;
  char* const* environment;
  int out, err, report;  // -1: as they are
  pid_t parent;
};

// Where the program would have printed.
void say_why_not(const char* program) {
  const char* const cause = ::strerrordesc_np(errno);
  for (const char* text : {"cannot execute ", program, ": ", cause == nullptr ? "?" : cause, "\n"})
    static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
}

// Between fork and exec: only calls that are safe there. What is ignored and blocked goes on after exec.
[[noreturn]] void become(const Become& what) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != what.parent) ::_exit(signal_codes + SIGTERM);  // it died before it could be told
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_IGN);  // of the parent's, when that is gone
  ::signal(SIGTTOU, SIG_IGN);  // a group in the background may print
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (what.out >= 0) ::dup2(what.out, STDOUT_FILENO);
  if (what.err >= 0) ::dup2(what.err, STDERR_FILENO);
  if (what.report >= 0) ::fcntl(what.report, F_SETFD, 0);
  ::execve(what.program, what.words, what.environment);
  say_why_not(what.program);
  ::_exit(exit_of_no_program);
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerStart& start) {
  Pipe out, err, report;
  if (!start.shares_output) {
    out.open();
    err.open();
  }
  std::map<std::string, std::string> added = start.environment;
  if (!start.reports_as.empty()) {
    report.open();
    added[start.reports_as] = std::to_string(report.writes);
  }
  std::vector<std::string> words = start.words;
  std::vector<std::string> environment = environment_with(added);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const Become what{start.program.c_str(),
                    word_pointers.data(),
                    environment_pointers.data(),
                    out.writes,
                    err.writes,
                    report.writes,
                    ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) become(what);
  if (pid_ < 0) {
    for (const Pipe& pipe : {out, err, report}) pipe.close();
    fail_to_start("fork");
  }
  for (const int end : {out.writes, err.writes, report.writes}) {
    if (end >= 0) ::close(end);
  }
  out_ = out.reads;
  err_ = err.reads;
  report_ = report.reads;
  ::setpgid(pid_, pid_);  // whoever of the two comes first
  open_ended();
}

void WorkerProcess::open_ended() {
  ended_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  // It has ended already, and nobody waits for children (SIGCHLD is ignored): what is ready at once says so.
  if (ended_ < 0 && errno == ESRCH) ended_ = ::eventfd(1, EFD_CLOEXEC);
  if (ended_ >= 0) return;
  const int cause = errno;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  close_all();
  errno = cause;
  fail_to_wait();
}

WorkerProcess::~WorkerProcess() {
  if (!code()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_all();
}

void WorkerProcess::close_all() {
  for (const int descriptor : {ended_, out_, err_, report_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void WorkerProcess::signal(int number) const {
  if (!code_) ::kill(pid_, number);
}

std::optional<int> WorkerProcess::code() {
  int status = 0;
  if (code_) return code_;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended < 0 && errno == ECHILD) code_ = code_of_nobody_knows_what;  // taken by whoever ignores SIGCHLD
  if (ended != pid_) return code_;
  if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  code_ = signal_ ? signal_codes + *signal_ : WEXITSTATUS(status);
  return code_;
}

}  // namespace d9d
