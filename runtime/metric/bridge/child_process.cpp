#include "runtime/metric/bridge/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "runtime/base/error.hpp"

extern char** environ;

namespace d9d {
namespace {

constexpr std::chrono::milliseconds glance{20};
constexpr int killed_code = 128;

// What posix_spawn does before the program begins.
class Setting {
 public:
  Setting(int input, const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    // This process blocks signals in all threads (signal_watch); the child shall not.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Setting() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& log) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::environment, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: not written
  arguments.push_back(nullptr);
  Setting setting(ends[0], log);
  const int failed =
      posix_spawnp(&pid_, arguments[0], &setting.files_, &setting.attributes_, arguments.data(), environ);
  close(ends[0]);
  input_ = ends[1];
  if (failed == 0) return;
  close(input_);
  throw Error(ErrorKind::environment,
              fmt::format("cannot start {}: {}", words.front(), std::strerror(failed)));
}

ChildProcess::~ChildProcess() {
  end_input();
}

void ChildProcess::end_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

std::optional<int> ChildProcess::ended_within(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!code_) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : killed_code + WTERMSIG(status);
    } else if (ended < 0 || std::chrono::steady_clock::now() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(glance);
    }
  }
  return code_;
}

}  // namespace d9d
