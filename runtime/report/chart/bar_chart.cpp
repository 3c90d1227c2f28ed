#include "runtime/report/chart/bar_chart.hpp"

#include <fmt/format.h>

#include <numeric>

#include "runtime/base/xml_text.hpp"

namespace d9d::report {
namespace {

constexpr int picture_width = 400;
constexpr int bars_left = 60, bars_right = 386;
constexpr int row_height = 20, bar_height = 14;
constexpr int scale_height = 20;

std::string bar(const std::vector<Share>& shares, const BarRow& row, double y) {
  const double whole = std::accumulate(row.parts.begin(), row.parts.end(), 0.0);
  std::string svg = fmt::format("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", bars_left - 6,
                                y + 11, xml_text(row.name));
  double x = bars_left;
  for (std::size_t i = 0; i < shares.size() && whole > 0; ++i) {
    const double share = row.parts[i] / whole;
    const double width = share * (bars_right - bars_left);
    if (width <= 0) continue;
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{}\"><title>{}: {} {:.1f} "
        "%</title></rect>\n",
        shares[i].css_class, x, y, width, bar_height, xml_text(row.name), xml_text(shares[i].name),
        100 * share);
    x += width;
  }
  return svg;
}

std::string scale(double y) {
  std::string svg = "<g class=\"axis\">\n";
  for (int percent = 0; percent <= 100; percent += 25) {
    const double x = bars_left + percent / 100.0 * (bars_right - bars_left);
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.0f}v4\"/><text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}{}</text>\n", x,
        y, x, y + 16, percent == 100 ? "end" : "middle", percent, percent == 100 ? " %" : "");
  }
  return svg + "</g>\n";
}

}  // namespace

std::string bar_chart(const std::string& title, const std::vector<Share>& shares,
                      const std::vector<BarRow>& rows) {
  const double height = static_cast<double>(rows.size()) * row_height + scale_height;
  std::string html = fmt::format(
      "<figure class=\"bars\">\n<figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2:.0f}\" role=\"img\" "
      "aria-label=\"{0}\">\n",
      xml_text(title), picture_width, height);
  for (std::size_t i = 0; i < rows.size(); ++i)
    html += bar(shares, rows[i], static_cast<double>(i) * row_height);
  html += scale(height - scale_height) + "</svg>\n<ul class=\"legend\">";
  for (const Share& share : shares)
    html += fmt::format("<li><i class=\"{}\"></i>{}</li>", share.css_class, xml_text(share.name));
  return html + "</ul>\n</figure>\n";
}

}  // namespace d9d::report
