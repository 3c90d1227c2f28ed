#include "runtime/job/reading/reference_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Chapter {
  std::string_view path;  // `optimizer` of the title `optimizer with name: adamw`
  std::string_view text;  // with its title
};

std::vector<Chapter> chapters_of(std::string_view reference) {
  constexpr std::string_view mark = "\n## ";
  std::vector<Chapter> chapters;
  for (std::size_t at = reference.find(mark); at != std::string_view::npos;) {
    const std::size_t next = reference.find(mark, at + 1);
    const std::string_view text = reference.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    std::string_view path = text.substr(0, text.find('\n')).substr(mark.size() - 1);
    if (path.starts_with('`')) path = path.substr(1, path.size() - 2);
    chapters.push_back({path.substr(0, path.find(' ')), text});
    at = next;
  }
  return chapters;
}

bool is_in(std::string_view path, std::string_view section) {
  return path == section || (path.starts_with(section) && path[section.size()] == '.');
}

// What a chapter says of keys, whatever model it is of.
std::string_view rows_of(std::string_view text) {
  return text.substr(text.find('\n'));
}

}  // namespace

std::string reference_section(std::string_view reference, std::string_view section) {
  const std::vector<Chapter> chapters = chapters_of(reference);
  std::string out;
  std::vector<std::string_view> names, rows;
  const auto add = [&](const Chapter& chapter) {
    if (std::ranges::find(rows, rows_of(chapter.text)) != rows.end()) return;
    rows.push_back(rows_of(chapter.text));
    out += fmt::format("{}{}", out.empty() ? "" : "\n", chapter.text);
    if (!out.ends_with('\n')) out += '\n';
  };
  for (const Chapter& chapter : chapters) {
    names.push_back(chapter.path);
    if (is_in(chapter.path, section)) add(chapter);
  }
  if (out.empty()) {
    const std::string row = fmt::format("| `{}` |", section);
    for (const Chapter& chapter : chapters) {
      if (chapter.text.find(row) != std::string_view::npos) add(chapter);
    }
  }
  D9D_REQUIRE(!out.empty(), "no section or key is called \"{}\"; {}", section,
              config::suggestion(section, names));
  return out;
}

}  // namespace d9d
