#pragma once
// `--set key.path=value`: changes a tree before it is decoded.

#include <string_view>

#include "runtime/base/config/node.hpp"

namespace d9d::config {

// Applies one assignment. The value is read as YAML if it begins with a quote or a bracket or
// has several lines. Any other value is one plain text, so that no `#`, `&` or `!` cuts it. An
// empty value is null.
// Makes missing maps on the path. A number names a place in a list; the one after the last appends.
// Input error with the path's segment: the path leads through a text or past a list. Decoding finds
// out later whether the key is known.
void apply_override(Node& root, std::string_view assignment);

}  // namespace d9d::config
