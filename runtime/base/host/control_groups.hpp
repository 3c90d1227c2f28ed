#pragma once
// The control groups that limit this process (cgroups(7), version 1 and 2).

#include <filesystem>
#include <string>
#include <vector>

namespace d9d {

struct ControlGroup {
  std::filesystem::path folder;  // its files
  bool second = false;           // version 2
};

// The group of this process and those above it, of each hierarchy that has `controller` ("cpu", "memory"), as far as a
// container sees them. Empty where the system does not say. `root`: where the files of the system are.
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::filesystem::path& root = "/");

}  // namespace d9d
