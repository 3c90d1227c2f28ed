#pragma once
// YAML 1.2 text (JSON is a subset) to a Node. Errors are ErrorKind::input with file, line and column; a
// missing or unreadable file is ErrorKind::input too: the user named it.

#include <filesystem>
#include <string>

#include "runtime/base/config/node.hpp"

namespace d9d::config {

// Parses a text; `origin` names it in messages. An empty text is a null node. Duplicate keys are
// an error that shows both. `<<: *anchor` in a map (or a list of anchors) adds those entries of
// the anchored maps that the map lacks (YAML 1.1's merge key). A job file may come from a
// stranger, so there are limits: 1 MiB of text, 64 levels, 100 000 nodes (aliases count). Text
// that is not UTF-8 is refused.
Node parse(const std::string& text, std::string origin);
Node parse_file(const std::filesystem::path& file);
// Checks only that a text is UTF-8.
void require_utf8(const std::string& text, std::string origin);
// Returns the text of a config file, which may be a pipe or a device: reads no more than the limit.
// "-" is the standard input.
std::string read_config_text(const std::filesystem::path& file);

}  // namespace d9d::config
