#pragma once
// YAML 1.2 text (JSON is a subset) to a Node. Errors are ErrorKind::input with file, line and column; a
// missing or unreadable file is ErrorKind::input too: the user named it.

#include <filesystem>
#include <string>

#include "runtime/base/config/node.hpp"

namespace d9d::config {

// `origin` names the text in messages. An empty text is a null node. Duplicate
// keys are an error that shows both. A map's `<<: *anchor` (or a list of them) adds the entries of these maps that the map
// itself has not (YAML 1.1's merge key). Limits, as a job file may come from
// a stranger: 1 MiB of text, 64 levels, 100 000 nodes (aliases count). Text that is not UTF-8 is refused.
Node parse(const std::string& text, std::string origin);
Node parse_file(const std::filesystem::path& file);
// The last of these by itself.
void require_utf8(const std::string& text, std::string origin);
// The text of such a file, which may be a pipe or a device: reads no more than the limit. "-" is the standard input.
std::string read_config_text(const std::filesystem::path& file);

}  // namespace d9d::config
