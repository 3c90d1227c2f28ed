#pragma once
// How much of its host's processors a container leaves to this process.

#include <filesystem>
#include <optional>

namespace d9d {

// In cores, as the control group of this process (version 1 or 2) and those above it limit it; nothing where none does, or
// where the system does not say. `root`: where the files of the system are.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Whole cores that keep busy without being throttled, at least 1: of those that the scheduler lets this process use, as many
// as the quota covers.
int whole_cores(int visible, std::optional<double> quota);
int usable_cores();

}  // namespace d9d
