#pragma once
// What this host gives a process: memory and threads. A job that cannot have them says so at the start: what is below
// it (OpenMP, an allocator) hangs or aborts.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace d9d {

// "7.4 GiB of the host are free (MemAvailable), this process uses 1.2 GiB, ulimit -v is 4.0 GiB"
std::string memory_situation();

// Memory that this process uses (resident); 0 where the system does not tell.
std::uint64_t process_bytes();

// A report when `text` is that of an allocation that failed (ours or torch's), else empty. What has these words is a
// report already, of a device (runtime/device/memory_report.hpp).
inline constexpr const char* device_memory_words = "are free on the device";
std::string out_of_memory_report(std::string_view text);

// An environment error when the address space that may still be taken (ulimit -v) is smaller.
void require_address_space(std::uint64_t bytes);

// Starts so many threads at once and ends them; an environment error when the system refuses one.
// `start` starts one thread of the given body and throws std::system_error when it cannot (for tests).
using StartThread = std::function<void(std::function<void()> body)>;
void require_threads(int count);
void require_threads(int count, const StartThread& start);

}  // namespace d9d
