#include "runtime/metric/bridge/child_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/base/host/start_program.hpp"

namespace d9d {
namespace {

constexpr std::chrono::milliseconds glance{20};
constexpr int killed_code = 128;

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& log) {
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot open {}: {}", log.string(), std::strerror(errno)));
  }
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    close(output);
    throw Error(ErrorKind::environment, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  input_ = ends[1];
  const auto close_theirs = [&] {
    close(ends[0]);
    close(output);
  };
  try {
    pid_ = start_program(words, ends[0], output, output);
  } catch (const Error&) {
    close_theirs();
    end_input();
    throw;
  }
  close_theirs();
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
      std::this_thread::sleep_for(glance);  // waitpid has no deadline
    }
  }
  return code_;
}

}  // namespace d9d
