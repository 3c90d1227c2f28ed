#include "runtime/job/reading/reference_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
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
    const std::string_view text =
        reference.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
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

std::string_view title_of(std::string_view chapter) {
  const std::string_view line = chapter.substr(0, chapter.find('\n'));
  return line.substr(line.find(' ') + 1);
}

// "mesh.tensor_parallel" of a row "| `mesh.tensor_parallel` | int | ..."; "" of other lines.
std::string_view key_of(std::string_view line) {
  return line.starts_with("| `") ? line.substr(3, line.find('`', 3) - 3) : std::string_view();
}

std::string link_to(std::string_view title, std::string_view text) {
  std::string anchor;  // as GitHub makes it of a heading
  for (const unsigned char c : title) {
    if (std::isalnum(c) != 0 || c == '_' || c == '-') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return fmt::format("[`{}`](#{})", text, anchor);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (text.find('\n', at) == std::string_view::npos) {
      lines.push_back(text.substr(at));
      break;
    }
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return lines;
}

// All that is said of a section, without its own name.
std::string said_of(std::string_view section, const std::vector<Chapter>& chapters) {
  std::string said;
  for (const Chapter& chapter : chapters) {
    if (!is_in(chapter.path, section)) continue;
    for (const std::string_view line : lines_of(chapter.text)) {
      const std::size_t name = line.find('`') + 1;  // of a title or a key, after "## " or "| "
      const bool is_named = name <= 4 && line.substr(name).starts_with(section);
      said += fmt::format("{}\n", is_named ? line.substr(name + section.size()) : line);
    }
  }
  return said;
}

// The path of a section, and the first chapter of the one that says the same.
using EqualSections = std::map<std::string_view, Chapter>;

// Removes the sections that say what an earlier one says.
EqualSections take_equal_sections(std::vector<Chapter>& chapters) {
  std::map<std::string, Chapter> first;
  EqualSections taken;
  std::set<std::string_view> seen;
  const std::vector<Chapter> all = chapters;
  for (const Chapter& chapter : all) {
    const bool is_taken =
        std::ranges::any_of(taken, [&](const auto& section) { return is_in(chapter.path, section.first); });
    if (is_taken || !seen.insert(chapter.path).second) continue;
    const auto [earlier, is_new] = first.emplace(said_of(chapter.path, chapters), chapter);
    if (is_new) continue;
    taken.emplace(chapter.path, earlier->second);
    std::erase_if(chapters, [&](const Chapter& other) { return is_in(other.path, chapter.path); });
  }
  return taken;
}

std::string with_link(std::string_view row, std::string_view key, const EqualSections& equal) {
  for (const std::string& section : {std::string(key), fmt::format("{}.N", key)}) {
    const auto link = equal.find(section);
    if (link == equal.end()) continue;
    constexpr std::string_view end = " |";
    return fmt::format("{}; as {}{}", row.substr(0, row.size() - end.size()),
                       link_to(title_of(link->second.text), link->second.path), end);
  }
  return std::string(row);
}

// The chapter without the rows that are in `titles`, which gets the others: a row, and where it stands.
std::string once(const Chapter& chapter, const EqualSections& equal,
                 std::map<std::string_view, std::string_view>& titles) {
  std::string words, table_head, rows, known;
  for (const std::string_view line : lines_of(chapter.text)) {
    const std::string_view key = key_of(line);
    if (key.empty()) {
      (line.starts_with('|') ? table_head : words) += fmt::format("{}\n", line);
      continue;
    }
    const auto [row, is_new] = titles.emplace(line, title_of(chapter.text));
    if (is_new)
      rows += with_link(line, key, equal) + "\n";
    else
      known += fmt::format("{}{}", known.empty() ? "" : ", ", link_to(row->second, key));
  }
  while (words.ends_with("\n\n")) words.pop_back();
  if (!rows.empty()) words += "\n" + table_head + rows;
  if (!known.empty()) words += fmt::format("\nAs above: {}.\n", known);
  return words;
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
    for (const Chapter& chapter : chapters) {
      const bool has_row = std::ranges::any_of(lines_of(chapter.text),
                                               [&](auto line) { return is_in(key_of(line), section); });
      if (has_row) add(chapter);
    }
  }
  D9D_REQUIRE(!out.empty(), "no section or key is called \"{}\"; {}", section,
              config::suggestion(section, names));
  return out;
}

std::string without_repeats(std::string_view reference) {
  std::vector<Chapter> chapters = chapters_of(reference);
  // The same table below several choices of the section around it.
  std::set<std::string_view> texts;
  std::erase_if(chapters, [&](const Chapter& chapter) {
    return !texts.insert(chapter.text.substr(0, chapter.text.find_last_not_of('\n') + 1)).second;
  });
  const EqualSections equal = take_equal_sections(chapters);
  std::string out(reference.substr(0, reference.find("\n## ")));
  std::map<std::string_view, std::string_view> titles;
  for (const Chapter& chapter : chapters) out += "\n" + once(chapter, equal, titles);
  return out;
}

}  // namespace d9d
