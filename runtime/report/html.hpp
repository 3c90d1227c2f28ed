#pragma once
// The pieces of a page. Arguments of text are escaped, arguments called `html` are not.

#include <string>
#include <string_view>
#include <vector>

namespace d9d::report {

std::string paragraph(std::string_view text, std::string_view css_class = {});
// A note that something is missing or wrong, and what to do about it.
std::string hint(std::string_view text);

struct Cell {
  std::string text;
  bool number = false;  // right-aligned
};
inline Cell number_cell(std::string text) {
  return {std::move(text), true};
}

// A table that scrolls on its own where the page is narrow. `heads` are as long as each row.
std::string table(const std::vector<Cell>& heads, const std::vector<std::vector<Cell>>& rows);

// A part that a reader can open. Works without a script.
std::string details(std::string_view summary, const std::string& html, bool open = false);

// A part of the page with its heading; `id` is what links lead to.
std::string section(std::string_view id, std::string_view heading, const std::string& html);

}  // namespace d9d::report
