#include "runtime/report/html.hpp"

#include <fmt/format.h>

#include "runtime/base/xml_text.hpp"

namespace d9d::report {
namespace {

std::string cell_of(const char* tag, const Cell& cell) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, cell.number ? " class=\"number\"" : "", xml_text(cell.text));
}

std::string row_of(const char* tag, const std::vector<Cell>& cells) {
  std::string html = "<tr>";
  for (const Cell& cell : cells) html += cell_of(tag, cell);
  return html + "</tr>\n";
}

}  // namespace

std::string paragraph(std::string_view text, std::string_view css_class) {
  const std::string of_class = css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class);
  return fmt::format("<p{}>{}</p>\n", of_class, xml_text(text));
}

std::string hint(std::string_view text) {
  return paragraph(text, "hint");
}

std::string table(const std::vector<Cell>& heads, const std::vector<std::vector<Cell>>& rows) {
  std::string html =
      "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>" + row_of("th", heads) + "</thead>\n<tbody>\n";
  for (const auto& row : rows) html += row_of("td", row);
  return html + "</tbody></table></div>\n";
}

std::string details(std::string_view summary, const std::string& html, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open=\"open\"" : "",
                     xml_text(summary), html);
}

std::string section(std::string_view id, std::string_view heading, const std::string& html) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, xml_text(heading), html);
}

}  // namespace d9d::report
