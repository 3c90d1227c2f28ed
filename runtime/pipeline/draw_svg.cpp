#include "runtime/pipeline/draw_svg.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>

namespace d9d {
namespace {

constexpr int kLabelWidth = 64;
constexpr int kHeader = 30;
constexpr int kFooter = 46;
constexpr double kTextWidth = 14;  // narrowest box that gets its microbatch written in

struct Color {
  int red, green, blue;
};

Color color_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return {122, 172, 230};
    case ActionKind::backward:
      return {128, 190, 120};
    case ActionKind::backward_input:
      return {96, 192, 180};
    default:
      return {240, 190, 90};
  }
}

// `depth` = the how-manieth stage of its rank.
std::string fill_of(ActionKind kind, int depth) {
  const Color c = color_of(kind);
  const double shade = 1.0 / (1.0 + 0.25 * depth);
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(c.red * shade),
                     static_cast<int>(c.green * shade), static_cast<int>(c.blue * shade));
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

void draw_rank(std::string& svg, const std::vector<SimulatedAction>& actions, double y, int height,
               double scale) {
  std::set<int> stages;
  for (const SimulatedAction& a : actions) stages.insert(a.action.stage);
  for (const SimulatedAction& a : actions) {
    const double x = kLabelWidth + a.start * scale;
    const double width = (a.end - a.start) * scale;
    const auto depth = static_cast<int>(std::distance(stages.begin(), stages.find(a.action.stage)));
    svg += fmt::format(
        "<g><title>{} {:.4g} to {:.4g} ({:.4g})</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
        "height=\"{}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.6\"/>",
        to_string(a.action), a.start, a.end, a.end - a.start, x, y, width, height,
        fill_of(a.action.kind, depth));
    if (width >= kTextWidth) {
      svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + width / 2,
                         y + height / 2.0 + 4, a.action.microbatch);
    }
    svg += "</g>\n";
  }
}

std::string legend(double y) {
  std::string svg;
  double x = kLabelWidth;
  for (const auto& [kind, name] : {std::pair{ActionKind::forward, "forward F"},
                                   {ActionKind::backward, "backward B"},
                                   {ActionKind::backward_input, "input half I"},
                                   {ActionKind::backward_weight, "weight half W"}}) {
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        x, y, fill_of(kind, 0), x + 17, y + 10, name);
    x += 120;
  }
  return svg;
}

}  // namespace

std::string draw_svg(const Simulation& simulation, const SvgOptions& options) {
  const double scale = simulation.makespan > 0 ? options.width / simulation.makespan : 0;
  const auto ranks = static_cast<int>(simulation.ranks.size());
  const int height = kHeader + ranks * options.row + kFooter;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{2}\" y=\"20\" font-size=\"13\">{3}</text>\n",
      kLabelWidth + options.width + 10, height, kLabelWidth, escaped(options.title));
  for (int rank = 0; rank < ranks; ++rank) {
    const double y = kHeader + rank * options.row;
    svg += fmt::format("<text x=\"8\" y=\"{:.1f}\">rank {}</text>\n", y + options.row / 2.0 + 4, rank);
    svg += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"#eeeeee\"/>\n",
                       kLabelWidth, y, options.width, options.row - 4);
    draw_rank(svg, simulation.ranks[static_cast<std::size_t>(rank)], y, options.row - 4, scale);
  }
  const double bottom = kHeader + ranks * options.row + 10;
  svg += legend(bottom);
  svg += fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">makespan {:.4g}, bubble {:.1f} %</text>\n</svg>\n",
      kLabelWidth + options.width, bottom + 10, simulation.makespan, 100 * simulation.bubble);
  return svg;
}

}  // namespace d9d
