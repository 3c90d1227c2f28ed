#pragma once
// A copy of the log in a file, for who looks after the terminal is gone.

#include <cstdint>
#include <filesystem>

namespace d9d::log {

inline constexpr std::uint64_t log_file_bytes_max = 32 << 20;

// From now on each line goes to this file as well, at its end and at once, after those that this process has said before (the
// first 1000 of them). Makes its folder. A file that has grown beyond `bytes_max` becomes `name.1.log`, in the place of an
// earlier one. Environment error: the file cannot be opened. Lines that the disk does not take later are left out.
void copy_to(const std::filesystem::path& file, std::uint64_t bytes_max = log_file_bytes_max);
// Nothing more is written there.
void stop_copying();

}  // namespace d9d::log
