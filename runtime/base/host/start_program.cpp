#include "runtime/base/host/start_program.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "runtime/base/error.hpp"

extern char** environ;

namespace d9d {
namespace {

// What posix_spawn does before the program begins.
class Setting {
 public:
  Setting(int input, int output, int errors) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
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

pid_t start_program(const std::vector<std::string>& words, int input, int output, int errors) {
  std::vector<std::string> own_words = words;
  const std::vector<char*> arguments = pointers_to(own_words);
  Setting setting(input, output, errors);
  pid_t pid = -1;
  const int failed =
      posix_spawnp(&pid, arguments[0], &setting.files_, &setting.attributes_, arguments.data(), environ);
  if (failed != 0) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot start {}: {}", words.front(), std::strerror(failed)));
  }
  return pid;
}

std::string python_program() {
  const char* chosen = std::getenv("D9D_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

}  // namespace d9d
