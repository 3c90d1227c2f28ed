#include "runtime/base/config/codec_struct.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "runtime/base/config/codec_choice.hpp"
#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d::config {
namespace {

std::vector<std::string_view> names_of(std::span<const Key> keys, std::string_view tag) {
  std::vector<std::string_view> names;
  if (!tag.empty()) names.push_back(tag);
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

std::string where_to_add(const Path& path) {
  const std::string section = path.str();
  return section.empty() ? "at the top level" : "under `" + section + "`";
}

// Reports unknown keys; returns the known ones that they were probably meant to be.
std::set<std::string> check_unknown(const Node& node, const Path& path,
                                    const std::vector<std::string_view>& names, Problems& problems) {
  std::vector<std::string_view> free;
  for (const std::string_view name : names) {
    if (!node.find(name)) free.push_back(name);
  }
  std::set<std::string> meant;
  for (const Entry& entry : node.entries) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    const std::string near = nearest(entry.key, free);
    problems.error(entry.mark, path.child(entry.key), "unknown key",
                   near.empty() ? suggestion(entry.key, names) : fmt::format("did you mean \"{}\"?", near));
    if (!near.empty()) meant.insert(near);
  }
  return meant;
}

}  // namespace

bool check_keys(const Node& node, const Path& path, std::span<const Key> keys, std::string_view tag,
                Problems& problems) {
  if (node.kind == Node::Kind::scalar || node.kind == Node::Kind::list) {
    return wrong_type(
        node, path, problems, "a section (a map)",
        keys.empty() ? "write `key: value` lines" : fmt::format("write `{}: ...` below it", keys[0].name));
  }
  const std::size_t errors_before = problems.errors().size();
  const std::set<std::string> meant = check_unknown(node, path, names_of(keys, tag), problems);
  for (const Key& key : keys) {
    const Node* value = node.find(key.name);
    if (value && !key.no_effect.empty()) {
      problems.warn(value->mark, path.child(key.name), fmt::format("has no effect: {}", key.no_effect));
    }
    // One slip, one error: the misspelt key already says what it should be.
    if (value || key.need != required || meant.contains(std::string(key.name))) continue;
    problems.error(node.mark, path.child(key.name), "missing",
                   fmt::format("add `{}: ...` {} ({})", key.name, where_to_add(path), key.meaning));
  }
  return problems.errors().size() == errors_before;
}

std::string to_string(const Range& range) {
  const bool has_min = std::isfinite(range.min);
  const bool has_max = std::isfinite(range.max);
  if (has_min && has_max) {
    return fmt::format("{}{} to {}{}", range.min, range.open_min ? " (excluded)" : "", range.max,
                       range.open_max ? " (excluded)" : "");
  }
  if (has_min) return fmt::format("{} {}", range.open_min ? ">" : ">=", range.min);
  if (has_max) return fmt::format("{} {}", range.open_max ? "<" : "<=", range.max);
  return {};
}

bool check_range(double value, const Range& range, const Node& node, const Path& path, Problems& problems) {
  const bool below = range.open_min ? value <= range.min : value < range.min;
  const bool above = range.open_max ? value >= range.max : value > range.max;
  // Infinite ends exclude nothing, also where they are open.
  if (!(below && std::isfinite(range.min)) && !(above && std::isfinite(range.max))) return true;
  problems.error(node.mark, path.str(), fmt::format("{} is out of range", value),
                 fmt::format("give a value {}", to_string(range)));
  return false;
}

void mention_null(const Key& key, std::size_t errors_before, Problems& problems) {
  constexpr std::string_view mark = "null: ";
  const std::size_t at = key.meaning.find(mark);
  if (at == std::string_view::npos || problems.errors().size() == errors_before) return;
  const std::string_view words = key.meaning.substr(at + mark.size());
  problems.add_remedy(fmt::format(", or null ({})", words.substr(0, words.find(';'))));
}

Row make_row(const std::string& path, const Key& key, std::string type, const Json& fallback,
             bool has_table) {
  Row row;
  row.key = path.empty() ? std::string(key.name) : path + "." + std::string(key.name);
  row.type = std::move(type);
  if (const std::string range = to_string(key.range); !range.empty()) row.type += ", " + range;
  row.fallback = key.need == required ? "required" : json_text(fallback);
  if (has_table && key.need != required && fallback.is_object()) row.fallback = "see below";
  row.unit = std::string(key.unit);
  row.meaning = std::string(key.meaning);
  if (!key.no_effect.empty()) row.meaning += fmt::format("; **no effect**: {}", key.no_effect);
  return row;
}

std::string join_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : " \\| ") + std::string(name);
  }
  return text;
}

int read_name(const Node& node, const Path& path, Problems& problems,
              const std::vector<std::string_view>& names) {
  if (node.kind == Node::Kind::list || node.kind == Node::Kind::map) {
    wrong_type(node, path, problems, "a name", suggestion("", names));
    return -1;
  }
  const auto found = std::find(names.begin(), names.end(), node.text);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  problems.error(node.mark, path.str(), fmt::format("\"{}\" is not known", node.text),
                 suggestion(node.text, names));
  return -1;
}

const Node* read_tag(const Node& node, const Path& path, Problems& problems, std::string_view key,
                     const std::vector<std::string_view>& names, Node& empty, const Node*& rest) {
  rest = &node;
  // A null is a name only where a choice is called so; `data:` with nothing behind it is a section without its name.
  const bool is_named_null =
      node.kind == Node::Kind::null && std::find(names.begin(), names.end(), node.text) != names.end();
  if (node.kind == Node::Kind::scalar || is_named_null) {
    empty.kind = Node::Kind::map;
    empty.mark = node.mark;
    rest = &empty;
    return &node;
  }
  if (node.kind == Node::Kind::list) {
    wrong_type(node, path, problems, fmt::format("a section with `{}`", key),
               fmt::format("write `{}: ...` below it", key));
    return nullptr;
  }
  const Node* tag = node.find(key);
  if (!tag) {
    problems.error(node.mark, path.child(key), "missing",
                   fmt::format("add `{}: ...` {}; {}", key, where_to_add(path), suggestion("", names)));
    return nullptr;
  }
  if (tag->kind == Node::Kind::scalar || tag->kind == Node::Kind::null) return tag;
  wrong_type(*tag, Path{&path, key}, problems, "a name", suggestion("", names));
  return nullptr;
}

}  // namespace d9d::config
