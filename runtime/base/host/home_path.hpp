#pragma once
// Paths as people write them.

#include <string>

namespace d9d {

// Replaces `~`, `~/x` and `~user/x` by home folders, as shells do. Every other path is returned as
// it is, also `~x` if there is no user x. Input error: a path with a variable ($HOME/x,
// runs/${USER}), which would become a folder of that name; a home folder that is not known.
std::string expanded_path(const std::string& path);

}  // namespace d9d
