#pragma once
// A process of the same job that this one starts and ends. It has a group of its own, so that Ctrl-C reaches it only by
// its parent, and it gets SIGTERM when its parent dies, however that happens. One thread: that of the constructor.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

inline constexpr int exit_of_no_program = 127;  // as of shells and of the loader of libraries

struct WorkerStart {
  std::string program;
  std::vector<std::string> words;  // the first is its name
  std::map<std::string, std::string> environment{};
  std::string reports_as{};  // the variable that names the descriptor to which it reports; empty: it does not
  bool shares_output = false;  // prints where this process does; else into the pipes `out` and `err`
};

class WorkerProcess {
 public:
  // Environment error: no process, no descriptors, no way to wait for it. A program that cannot be
  // executed says why on its `err` and ends with exit_of_no_program.
  explicit WorkerProcess(const WorkerStart& start);
  ~WorkerProcess();  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Of a process that has ended: its exit code, or 128 + the signal; 1 where this process ignores SIGCHLD and so never
  // hears it. Does not wait.
  std::optional<int> code();
  std::optional<int> signal_of_death() const { return signal_; }

  // Descriptors to wait for, -1 without. `ended` becomes readable when the process has ended.
  int ended() const { return ended_; }
  int out() const { return out_; }
  int err() const { return err_; }
  int report() const { return report_; }

 private:
  void open_ended();
  void close_all();

  pid_t pid_ = -1;
  int ended_ = -1, out_ = -1, err_ = -1, report_ = -1;
  std::optional<int> code_, signal_;
};

}  // namespace d9d
