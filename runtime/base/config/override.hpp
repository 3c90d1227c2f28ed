#pragma once
// `--set key.path=value`: changes a tree before it is decoded.

#include <string_view>

#include "runtime/base/config/node.hpp"

namespace d9d::config {

// The value is YAML in quotes or brackets, or of several lines; else one plain value as it stands, so that no `#`, `&` or
// `!` takes a part of it away. Nothing after the '=' is null. Missing maps on the way are made; a number names a place
// in a list, and the one after the last appends. A path that leads through a text or past a list is
// ErrorKind::input and names the segment. Whether the key is known is found out by decoding.
void apply_override(Node& root, std::string_view assignment);

}  // namespace d9d::config
