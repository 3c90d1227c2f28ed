#pragma once
// Keys of the original that change nothing here, such as its garbage collector's. They are accepted, so that its job
// files work unchanged. No struct has a member for them.

#include "runtime/base/config/node.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/config/reference.hpp"

namespace d9d {

// Checks the values of these keys, warns of each key that is given, and removes it from the tree.
void take_unused_keys(config::Node& root, config::Problems& problems);
void add_unused_keys(config::Reference& reference);

}  // namespace d9d
