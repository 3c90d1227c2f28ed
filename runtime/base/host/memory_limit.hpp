#pragma once
// How much of its host's memory a container leaves to this process.

#include <cstdint>
#include <filesystem>

namespace d9d {

// Bytes: the memory of the host, or less where the control group of this process or one above it has a limit. `root`:
// where the files of the system are.
std::uint64_t usable_memory(std::uint64_t of_host, const std::filesystem::path& root = "/");
std::uint64_t usable_memory();

}  // namespace d9d
