#pragma once
// The memory and threads that this host gives a process. A job checks them at its start, because
// libraries that run out of them later (OpenMP, an allocator) hang or abort.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace d9d {

// "7.4 GiB of the host are free (MemAvailable), this process uses 1.2 GiB, ulimit -v is 4.0 GiB"
std::string memory_situation();

// Returns the resident memory of this process; 0 if the system does not tell.
std::uint64_t process_bytes();

// Returns a report if `text` is that of a failed allocation (ours or torch's), else an empty text.
// A text with `device_memory_words` is a device's report already
// (runtime/device/memory_report.hpp).
inline constexpr const char* device_memory_words = "are free on the device";
std::string out_of_memory_report(std::string_view text);

// Environment error: less than `bytes` of address space may still be taken (ulimit -v).
void require_address_space(std::uint64_t bytes);

// Starts `threads` threads at once and ends them. Environment error: the system
// refuses one. `start` starts a thread with the given body and throws
// std::system_error if it cannot (for tests).
using StartThread = std::function<void(std::function<void()> body)>;
void require_threads(int count);
void require_threads(int count, const StartThread& start);

}  // namespace d9d
