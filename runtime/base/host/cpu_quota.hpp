#pragma once
// The share of the host's processors that a container leaves to this process.

#include <filesystem>
#include <optional>

namespace d9d {

// Returns the limit in cores that the control group of this process (version 1 or 2) and those
// above it set. Nothing if none sets one, or if the system does not say. `root` is the folder
// of the system's files.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Returns how many whole cores can be busy without being throttled, at least 1: the cores that the
// scheduler lets this process use (`visible`), but no more than the quota covers.
int whole_cores(int visible, std::optional<double> quota);
int usable_cores();

}  // namespace d9d
