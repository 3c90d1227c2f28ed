#include "runtime/pipeline/simulated/draw_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "runtime/base/tick_step.hpp"
#include "runtime/base/xml_text.hpp"

namespace d9d {
namespace {

constexpr int label_width = 92;
constexpr int right_margin = 20;
constexpr int header_height = 30;
constexpr int axis_height = 22;
constexpr int footer_height = 34;
constexpr int legend_height = 26;
constexpr int ticks_max = 10;
constexpr double text_width_min = 14;         // narrowest box that gets its microbatch written in
constexpr const char* ink_color = "#24292f";  // in a file of its own; in a page the colour of the page's text
constexpr std::array drawn_kinds{ActionKind::forward, ActionKind::backward, ActionKind::backward_input,
                                 ActionKind::backward_weight};

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

// `depth`: the stage's index among the stages of its rank.
std::string fill_of(ActionKind kind, int depth) {
  const Color c = color_of(kind);
  const double shade = 1.0 / (1.0 + 0.25 * depth);
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(c.red * shade),
                     static_cast<int>(c.green * shade), static_cast<int>(c.blue * shade));
}

struct Lane {
  double y, height;
};

// An action that overlaps with the previous or the next one gets half a row.
Lane lane_of(const std::vector<SimulatedAction>& actions, std::size_t i, double y, double height) {
  const auto overlap = [&](std::size_t first) {
    return actions[first + 1].start < actions[first].end && actions[first + 1].end > actions[first].start;
  };
  if (i > 0 && overlap(i - 1)) return {y + height / 2, height / 2};
  if (i + 1 < actions.size() && overlap(i)) return {y, height / 2};
  return {y, height};
}

// Draws a frame around the parts of each composed action.
void draw_frames(std::string& svg, const std::vector<SimulatedAction>& actions, double row_y,
                 double row_height, double scale) {
  for (std::size_t first = 0; first < actions.size();) {
    std::size_t last = first;
    double start = actions[first].start, end = actions[first].end;
    while (last + 1 < actions.size() && actions[last + 1].joined) {
      ++last;
      start = std::min(start, actions[last].start);
      end = std::max(end, actions[last].end);
    }
    if (last > first) {
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"none\" "
          "stroke=\"currentColor\" stroke-width=\"1.4\"/>\n",
          label_width + start * scale, row_y, (end - start) * scale, row_height);
    }
    first = last + 1;
  }
}

void draw_rank(std::string& svg, const std::vector<SimulatedAction>& actions, double row_y, double row_height,
               double scale) {
  std::set<int> stages;
  for (const SimulatedAction& a : actions) stages.insert(a.action.stage);
  svg += fmt::format("<g class=\"boxes\" fill=\"{}\">\n", ink_color);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const SimulatedAction& a = actions[i];
    const Lane lane = lane_of(actions, i, row_y, row_height);
    const double y = lane.y, height = lane.height;
    const double x = label_width + a.start * scale;
    const double width = (a.end - a.start) * scale;
    const auto depth = static_cast<int>(std::distance(stages.begin(), stages.find(a.action.stage)));
    svg += fmt::format(
        "<g><title>{} {:.4g} to {:.4g} ({:.4g})</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
        "height=\"{}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.6\"/>",
        to_string(a.action), a.start, a.end, a.end - a.start, x, y, width, height,
        fill_of(a.action.kind, depth));
    if (width >= text_width_min) {
      svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + width / 2,
                         y + height / 2.0 + 4, a.action.microbatch);
    }
    svg += "</g>\n";
  }
  svg += "</g>\n";
  draw_frames(svg, actions, row_y, row_height, scale);
}

// The things that appear in the pictures, for the legend.
struct Contents {
  std::set<ActionKind> kinds;
  std::size_t stages = 1;  // the most of any rank
  bool composed = false;
};

Contents contents_of(const std::vector<SvgPanel>& panels) {
  Contents contents;
  for (const SvgPanel& panel : panels) {
    for (const auto& rank : panel.simulation->ranks) {
      std::set<int> stages;
      for (const SimulatedAction& a : rank) {
        contents.kinds.insert(a.action.kind);
        stages.insert(a.action.stage);
        contents.composed = contents.composed || a.joined;
      }
      contents.stages = std::max(contents.stages, stages.size());
    }
  }
  return contents;
}

const char* name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return "forward F";
    case ActionKind::backward:
      return "backward B";
    case ActionKind::backward_input:
      return "input half I";
    default:
      return "weight half W";
  }
}

std::string legend(const Contents& contents, double y) {
  std::string svg;
  double x = label_width;
  const auto box = [&](const std::string& fill, const char* stroke, const std::string& text, double width) {
    svg += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"{}\"/>\n",
                       x, y, fill, stroke);
    if (!text.empty()) {
      svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", x + 17, y + 10, text);
    }
    x += width;
  };
  for (const ActionKind kind : drawn_kinds) {
    if (contents.kinds.contains(kind)) box(fill_of(kind, 0), "none", name_of(kind), 110);
  }
  if (contents.stages > 1) {
    const auto shades = static_cast<int>(std::min<std::size_t>(contents.stages, 4));
    for (int depth = 0; depth + 1 < shades; ++depth) box(fill_of(ActionKind::forward, depth), "none", "", 14);
    box(fill_of(ActionKind::forward, shades - 1), "none", "darker: the later stages of a rank", 230);
  }
  if (contents.composed) box("none", "currentColor", "framed: one composed action", 0);
  return svg;
}

std::string time_axis(double y, double longest, double scale) {
  std::string svg;
  if (longest <= 0) return svg;
  const double tick = tick_step(longest, ticks_max);
  for (int i = 0; i * tick <= longest * (1 + 1e-9); ++i) {
    const double x = label_width + i * tick * scale;
    svg += fmt::format("<path d=\"M{0:.2f} {1:.1f}v5\" stroke=\"currentColor\"/>\n", x, y);
    svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.4g}</text>\n", x, y + 16,
                       i * tick);
  }
  return svg;
}

double draw_panel(std::string& svg, const SvgPanel& panel, const SvgOptions& options, double top,
                  double longest, double scale) {
  const Simulation& simulation = *panel.simulation;
  svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" font-size=\"13\">{}</text>\n", label_width, top + 20,
                     xml_text(panel.title));
  double y = top + header_height;
  for (std::size_t rank = 0; rank < simulation.ranks.size(); ++rank, y += options.row) {
    const std::string name = rank < panel.rows.size() ? panel.rows[rank] : fmt::format("pp rank {}", rank);
    svg += fmt::format("<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y + options.row / 2.0 + 4, xml_text(name));
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"currentColor\" "
        "fill-opacity=\"0.08\"/>\n",
        label_width, y, options.width, options.row - 4);
    draw_rank(svg, simulation.ranks[rank], y, options.row - 4, scale);
  }
  svg += time_axis(y, longest, scale);
  y += axis_height;
  svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\">time{}{}{}</text>\n", label_width, y + 14,
                     options.unit.empty() ? "" : " in", options.unit,
                     panel.note.empty() ? "" : "; " + xml_text(panel.note));
  svg += fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">makespan {:.4g}{}, bubble {:.1f} %</text>\n",
      label_width + options.width, y + 14, simulation.makespan, options.unit, 100 * simulation.bubble);
  return y + footer_height;
}

double height_of(const std::vector<SvgPanel>& panels, const SvgOptions& options) {
  double height = legend_height;
  for (const SvgPanel& panel : panels) {
    height += header_height + static_cast<double>(panel.simulation->ranks.size()) * options.row +
              axis_height + footer_height;
  }
  return height;
}

std::string begin_of(int width, double height, bool embedded) {
  const std::string common =
      fmt::format("viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\"",
                  width, height);
  if (embedded) return fmt::format("<svg class=\"program\" role=\"img\" {}>\n", common);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" {2} style=\"color:{3}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height, common, ink_color);
}

}  // namespace

std::string draw_svg(const Simulation& simulation, const SvgOptions& options) {
  return draw_svg(std::vector<SvgPanel>{{.title = options.title, .simulation = &simulation}}, options);
}

std::string draw_svg(const std::vector<SvgPanel>& panels, const SvgOptions& options) {
  double longest = 0;
  for (const SvgPanel& panel : panels) longest = std::max(longest, panel.simulation->makespan);
  const double scale = longest > 0 ? options.width / longest : 0;
  std::string svg =
      begin_of(label_width + options.width + right_margin, height_of(panels, options), options.embedded);
  double top = 0;
  for (const SvgPanel& panel : panels) top = draw_panel(svg, panel, options, top, longest, scale);
  return svg + legend(contents_of(panels), top) + "</svg>\n";
}

}  // namespace d9d
