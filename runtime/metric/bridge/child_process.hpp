#pragma once
// Another program that this process feeds and does not wait for. It outlives nothing by accident: its standard input ends
// when this process does, however that happens.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

class ChildProcess {
 public:
  // In a session of its own, because a Ctrl-C is meant for the job; what it prints is added to `log`. Environment error:
  // it cannot be started.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& log);
  // Ends its input, and leaves it to itself.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void end_input();
  // The exit code, or 128 + the signal; nothing: it is still running after `patience`.
  std::optional<int> ended_within(std::chrono::milliseconds patience);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> code_;
};

}  // namespace d9d
