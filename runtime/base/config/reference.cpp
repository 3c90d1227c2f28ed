#include "runtime/base/config/reference.hpp"

#include <fmt/format.h>

namespace d9d::config {
namespace {

constexpr std::string_view no_effect_mark = "**no effect**: ";  // of make_row(), before the reason

std::string row_text(const Row& row) {
  const bool code = row.fallback != "required" && row.fallback != "see below";
  const std::string fallback = code ? fmt::format("`{}`", row.fallback) : row.fallback;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, row.type, fallback, row.unit, row.meaning);
}

}  // namespace

std::string Reference::markdown() const {
  std::string text, no_effect;
  for (const Table& table : tables_) {
    std::string rows;
    for (const Row& row : table.rows) {
      const std::size_t mark = row.meaning.find(no_effect_mark);
      if (mark == std::string::npos)
        rows += row_text(row);
      else
        no_effect += fmt::format("| `{}` | {} | {} |\n", row.key, row.type,
                                 row.meaning.substr(mark + no_effect_mark.size()));
    }
    if (rows.empty() && !table.rows.empty()) continue;
    text += fmt::format("\n## {}\n", table.title.empty() ? "Top level" : "`" + table.title + "`");
    if (const auto note = notes_.find(table.title); note != notes_.end())
      text += fmt::format("\n{}\n", note->second);
    if (rows.empty()) {
      text += "\nNo further keys.\n";
      continue;
    }
    text += "\n| key | type | default | unit | meaning |\n|---|---|---|---|---|\n" + rows;
  }
  if (!no_effect.empty()) {
    text +=
        "\n## Keys without effect\n\nThey are accepted and change nothing; a job that has one gets a "
        "warning.\n"
        "\n| key | type | why |\n|---|---|---|\n" +
        no_effect;
  }
  return text;
}

}  // namespace d9d::config
