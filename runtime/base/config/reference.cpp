#include "runtime/base/config/reference.hpp"

#include <fmt/format.h>

namespace d9d::config {
namespace {

std::string row_text(const Row& row) {
  const bool code = row.fallback != "required" && row.fallback != "see below";
  const std::string fallback = code ? fmt::format("`{}`", row.fallback) : row.fallback;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, row.type, fallback, row.unit, row.meaning);
}

}  // namespace

std::string Reference::markdown() const {
  std::string text;
  for (const Table& table : tables_) {
    text += fmt::format("\n## {}\n", table.title.empty() ? "Top level" : "`" + table.title + "`");
    if (const auto note = notes_.find(table.title); note != notes_.end())
      text += fmt::format("\n{}\n", note->second);
    if (table.rows.empty()) {
      text += "\nNo further keys.\n";
      continue;
    }
    text += "\n| key | type | default | unit | meaning |\n|---|---|---|---|---|\n";
    for (const Row& row : table.rows) text += row_text(row);
  }
  return text;
}

}  // namespace d9d::config
