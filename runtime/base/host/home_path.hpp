#pragma once
// Paths as people write them.

#include <string>

namespace d9d {

// `~`, `~/x` and `~user/x` with the home folder in their place, as shells do it; every other path as it is, a file of such a
// name included (`~x` where there is no user x). Input error for a path that begins with a variable ($HOME/x), which would
// become a folder of that name, and where no home folder is known.
std::string expanded_path(const std::string& path);

}  // namespace d9d
