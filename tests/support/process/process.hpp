#pragma once
// A child process of a test. Its output goes to files, every wait has a deadline, and it never outlives the
// test: the destructor kills it, and the kernel does when the test itself dies.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/file_text.hpp"

namespace d9d::test {

// Of a wait that should take a second; the machine may be busy with other things.
constexpr std::chrono::seconds patience{120};

struct ProcessOptions {
  std::vector<std::string> words;  // the program and its arguments
  std::filesystem::path folder;    // where it runs; its output goes into files here
  std::string name = "process";    // of these files
  // Added to the test's own environment, from which the variables of launchers are taken away.
  std::map<std::string, std::string> environment = {};
  bool obeys_modes = false;  // root too may read only what the modes of files allow
};

// "key=value" of each variable of a process.
std::vector<std::string> environment_of(const ProcessOptions& options);

// Where a process's standard streams go.
struct OutputFiles {
  std::filesystem::path out, err;
};
OutputFiles output_files(const ProcessOptions& options);

// In a child after fork(), with calls that are safe there: its output goes to these files, it runs in the folder, and
// it does not outlive its parent. False: it cannot.
bool settle(const char* folder, const char* out, const char* err);
// The exit code of a status of waitpid(), or 128 + the signal.
int exit_code_of(int status);

class Process {
 public:
  explicit Process(const ProcessOptions& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The exit code, or 128 + the signal. Throws with the process's stderr when it is still running by then.
  int wait(std::chrono::seconds deadline = patience);
  // Waits until the condition holds. Throws when the process ends before, or at the deadline.
  void wait_until(const std::string& what, const std::function<bool()>& condition,
                  std::chrono::seconds deadline = patience);
  void wait_for_error_text(const std::string& text);
  bool running();
  pid_t pid() const { return pid_; }
  void signal(int number);  // SIGSTOP: returns when all threads have stopped
  void kill();              // SIGKILL; returns when the process is gone

  std::string out() const;
  std::string err() const;

 private:
  bool ended_within(std::chrono::milliseconds time);
  [[noreturn]] void complain(const std::string& what) const;

  const std::string name_;
  const OutputFiles files_;
  pid_t pid_ = -1;
  int handle_ = -1;  // pidfd
  std::optional<int> code_;
};

}  // namespace d9d::test
