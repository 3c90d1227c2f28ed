#include "runtime/pipeline/draw_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
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

struct Lane {
  double y, height;
};

// Half a row for an action that overlaps with the one before or behind it.
Lane lane_of(const std::vector<SimulatedAction>& actions, std::size_t i, double y, double height) {
  const auto overlap = [&](std::size_t first) {
    return actions[first + 1].start < actions[first].end && actions[first + 1].end > actions[first].start;
  };
  if (i > 0 && overlap(i - 1)) return {y + height / 2, height / 2};
  if (i + 1 < actions.size() && overlap(i)) return {y, height / 2};
  return {y, height};
}

void draw_rank(std::string& svg, const std::vector<SimulatedAction>& actions, double row_y, double row_height,
               double scale) {
  std::set<int> stages;
  for (const SimulatedAction& a : actions) stages.insert(a.action.stage);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const SimulatedAction& a = actions[i];
    const Lane lane = lane_of(actions, i, row_y, row_height);
    const double y = lane.y, height = lane.height;
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

double draw_panel(std::string& svg, const SvgPanel& panel, const SvgOptions& options, double top,
                  double scale) {
  const Simulation& simulation = *panel.simulation;
  svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" font-size=\"13\">{}</text>\n", kLabelWidth, top + 20,
                     escaped(panel.title));
  double y = top + kHeader;
  for (std::size_t rank = 0; rank < simulation.ranks.size(); ++rank, y += options.row) {
    svg += fmt::format("<text x=\"8\" y=\"{:.1f}\">rank {}</text>\n", y + options.row / 2.0 + 4, rank);
    svg += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"#eeeeee\"/>\n",
                       kLabelWidth, y, options.width, options.row - 4);
    draw_rank(svg, simulation.ranks[rank], y, options.row - 4, scale);
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">makespan {:.4g}{}, bubble {:.1f} %</text>\n",
      kLabelWidth + options.width, y + 20, simulation.makespan, options.unit, 100 * simulation.bubble);
  return y;
}

double height_of(const std::vector<SvgPanel>& panels, const SvgOptions& options) {
  double height = 0;
  for (const SvgPanel& panel : panels) {
    height += kHeader + static_cast<double>(panel.simulation->ranks.size()) * options.row + kFooter;
  }
  return height;
}

}  // namespace

std::string draw_svg(const Simulation& simulation, const SvgOptions& options) {
  return draw_svg(std::vector<SvgPanel>{{options.title, &simulation}}, options);
}

std::string draw_svg(const std::vector<SvgPanel>& panels, const SvgOptions& options) {
  double longest = 0;
  for (const SvgPanel& panel : panels) longest = std::max(longest, panel.simulation->makespan);
  const double scale = longest > 0 ? options.width / longest : 0;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kLabelWidth + options.width + 10, height_of(panels, options));
  double top = 0;
  for (const SvgPanel& panel : panels) {
    const double bottom = draw_panel(svg, panel, options, top, scale);
    if (&panel == &panels.back()) svg += legend(bottom + 10);
    top = bottom + kFooter;
  }
  return svg + "</svg>\n";
}

}  // namespace d9d
