#pragma once
// Runs another program that this process writes to and does not wait for. Its standard input ends
// when this process does, in whatever way, so it does not live on by accident.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

class ChildProcess {
 public:
  // Starts the program in a session of its own, because a Ctrl-C is meant for the job. Its output
  // is appended to `log`. Environment error: it cannot be started.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& log);
  // Ends the program's input and does not wait for its exit.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void end_input();
  // Returns the exit code, or 128 + the signal; nothing if it still runs after `patience`.
  std::optional<int> ended_within(std::chrono::milliseconds patience);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> code_;
};

}  // namespace d9d
