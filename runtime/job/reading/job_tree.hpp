#pragma once
// What is done with the tree of a job file before its sections are read.

#include "runtime/base/config/node.hpp"
#include "runtime/base/config/problems.hpp"

namespace d9d {

// Takes away what stands there for anchors only (keys `x-...` of the top level), and puts the home folder in the place
// of `~` in all keys that name a file or folder. A path that begins with a variable is a problem of its key.
void settle_tree(config::Node& root, config::Problems& problems);

}  // namespace d9d
