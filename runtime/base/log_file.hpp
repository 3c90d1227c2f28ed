#pragma once
// Copies the log to a file, for reading after the terminal is gone.

#include <cstdint>
#include <filesystem>

namespace d9d::log {

inline constexpr std::uint64_t log_file_bytes_max = 32 << 20;

// Appends each further line to this file at once, after the first 1000 lines that this process has
// written before. Makes the file's folder. A file that has grown beyond `bytes_max` is renamed to
// `name.1.log` and replaces an earlier one. Lines that the disk refuses later are lost. Environment
// error: the file cannot be opened.
void copy_to(const std::filesystem::path& file, std::uint64_t bytes_max = log_file_bytes_max);
// Stops copying.
void stop_copying();

}  // namespace d9d::log
