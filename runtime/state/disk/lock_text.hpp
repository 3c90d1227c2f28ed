#pragma once
// What a lock file says, and what the kernel says of the process in it.

#include <optional>
#include <string>

#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {

std::string to_text(const LockHolder& holder);  // JSON
// Untrusted text: what is not in it stays empty.
LockHolder holder_from(const std::string& text);
// "run tiny, process 12 on host a, since ..."
std::string describe(const LockHolder& holder);
// The whole file; nothing when there is none.
std::optional<std::string> read_lock(const std::string& path);
// When the process began, in the kernel's ticks; nothing when no such process runs.
std::optional<std::string> start_of_process(long pid);

}  // namespace d9d
