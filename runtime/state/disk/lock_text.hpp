#pragma once
// The contents of a lock file, and the kernel's data about the process in it.

#include <optional>
#include <string>

namespace d9d {

struct LockHolder {
  std::string host;
  std::string machine;  // boot id and pid namespace: a pid means something only if both are equal
  long pid = 0;
  std::string started;  // the process's start in kernel ticks, since pids are used again
  std::string run;
  std::string tag;    // random per job start
  std::string since;  // for people

  static LockHolder this_process(const std::string& run, const std::string& tag);
};

std::string to_text(const LockHolder& holder);  // JSON
// Parses untrusted text; missing fields stay empty.
LockHolder holder_from(const std::string& text);
// "run tiny, process 12 on host a, since ..."
std::string describe(const LockHolder& holder);
// Returns the whole file; nothing if there is none.
std::optional<std::string> read_lock(const std::string& path);
// Returns the process's start in kernel ticks; nothing if no such process runs.
std::optional<std::string> start_of_process(long pid);

}  // namespace d9d
