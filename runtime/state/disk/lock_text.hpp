#pragma once
// The contents of a lock file, and the kernel's data about the process in it.

#include <optional>
#include <string>

#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

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
