#include "runtime/report/chart/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/xml_text.hpp"
#include "runtime/report/chart/axis.hpp"
#include "runtime/report/chart/chart_facts.hpp"
#include "runtime/report/chart/durations.hpp"
#include "runtime/report/chart/thinning.hpp"
#include "runtime/report/html.hpp"
#include "runtime/report/page_style.hpp"

namespace d9d::report {
namespace {

// In units of the picture. A page shows it about as large as this, however wide the page is.
constexpr int chart_width = 400;
constexpr int left = 54, right = 390, top = 10, bottom = 166;
constexpr int step_labels = 182, time_labels = 197, foot = 204;
constexpr int title_height = 22;  // of a file
constexpr int x_ticks = 6, y_ticks = 6;

constexpr std::size_t buckets_max = 320;
constexpr std::size_t bad_marks_max = 40;
constexpr std::size_t smooth_least = 24;  // values; a shorter curve needs none
constexpr std::size_t dots_max = 60;      // of a line
constexpr std::size_t windows = 40;       // of smoothing, on the length of the curve
constexpr double outlier_factor = 30;     // largest over median

struct Scales {
  Axis x, y;
  double px(double step) const { return left + (right - left) * x.place(step); }
  double py(double value) const { return bottom - (bottom - top) * y.place(value); }
};

std::vector<double> finite_values(const LineChart& chart) {
  std::vector<double> values;
  for (const Curve& line : chart.lines) {
    for (const double value : line.values) {
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

Axis value_axis(const LineChart& chart) {
  const std::vector<double> values = finite_values(chart);
  if (values.empty()) return linear_axis(0, 1, y_ticks);
  const double low = values.front(), high = values.back(), median = values[values.size() / 2];
  if (!chart.never_logarithmic && low > 0 && high > outlier_factor * median)
    return logarithmic_axis(low * 0.9, high * 1.1, y_ticks);
  const double room = 0.05 * (high - low);
  const double least = chart.from_zero ? std::min(0.0, low) : low - room;
  return linear_axis(low >= 0 ? std::max(least, 0.0) : least, high + room, y_ticks);
}

Scales scales_of(const LineChart& chart) {
  double first = std::numeric_limits<double>::infinity(), last = -first;
  for (const Curve& line : chart.lines) {
    if (line.steps.empty()) continue;
    first = std::min(first, line.steps.front());
    last = std::max(last, line.steps.back());
  }
  if (first > last) first = last = 1;
  Axis steps = linear_axis(first, last, x_ticks);
  std::erase_if(steps.ticks, [](const Tick& tick) { return tick.value != std::floor(tick.value); });
  for (Tick& tick : steps.ticks) {
    if (tick.label.ends_with(".0")) tick.label.resize(tick.label.size() - 2);
  }
  return {steps, value_axis(chart)};
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     xml_text(text));
}

// Of the last step that is not after `step`.
double seconds_at(const Curve& elapsed, double step) {
  const auto after = std::upper_bound(elapsed.steps.begin(), elapsed.steps.end(), step);
  if (after == elapsed.steps.begin()) return 0;
  return elapsed.values[static_cast<std::size_t>(after - elapsed.steps.begin()) - 1];
}

std::string axes(const LineChart& chart, const Scales& scales) {
  std::string svg = "<g class=\"axis\">\n";
  for (const Tick& tick : scales.y.ticks) {
    const double y = scales.py(tick.value);
    svg += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", left, y, right);
    svg += text_at(left - 6, y + 4, "end", tick.label);
  }
  for (const Tick& tick : scales.x.ticks) {
    const double x = scales.px(tick.value);
    // The first one would meet the words "step" and "time".
    const char* anchor = x > right - 12 ? "end" : x < left + 12 ? "start" : "middle";
    svg += fmt::format("<path d=\"M{:.1f} {}v4\"/>\n", x, bottom);
    svg += text_at(x, step_labels, anchor, tick.label);
    if (chart.elapsed != nullptr)
      svg += text_at(x, time_labels, anchor, short_duration(seconds_at(*chart.elapsed, tick.value)));
  }
  svg += fmt::format("<path d=\"M{} {}H{}\"/>\n", left, bottom, right);
  svg += text_at(left - 6, step_labels, "end", "step");
  if (chart.elapsed != nullptr) svg += text_at(left - 6, time_labels, "end", "time");
  return svg + "</g>\n";
}

std::string marks_of(const LineChart& chart, const Scales& scales) {
  std::string svg;
  for (const ChartMark& mark : chart.marks) {
    if (mark.step < scales.x.low || mark.step > scales.x.high) continue;
    svg += fmt::format("<path class=\"mark\" d=\"M{:.1f} {}V{}\"><title>{}</title></path>\n",
                       scales.px(mark.step), top, bottom, xml_text(mark.text));
  }
  return svg;
}

std::string line_through(const std::vector<Bucket>& buckets, const Scales& scales,
                         const std::string& css_class) {
  if (buckets.size() == 1) {
    return fmt::format("<circle class=\"{} dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", css_class,
                       scales.px(buckets[0].step), scales.py(buckets[0].mean));
  }
  std::string path;
  for (const Bucket& bucket : buckets) {
    path += fmt::format("{}{:.1f} {:.2f}", path.empty() ? "M" : "L", scales.px(bucket.step),
                        scales.py(bucket.mean));
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, path);
}

// From the smallest to the largest value of each bucket.
std::string band(const std::vector<Bucket>& buckets, const Scales& scales, std::size_t index) {
  std::string path;
  for (const Bucket& bucket : buckets) {
    path += fmt::format("{}{:.1f} {:.2f}", path.empty() ? "M" : "L", scales.px(bucket.step),
                        scales.py(bucket.high));
  }
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
    path += fmt::format("L{:.1f} {:.2f}", scales.px(bucket->step), scales.py(bucket->low));
  return fmt::format("<path class=\"band band-{}\" d=\"{}z\"/>\n", index, path);
}

bool is_smoothed(const LineChart& chart) {
  return chart.smooth && !chart.lines.empty() && chart.lines[0].values.size() >= smooth_least;
}

// Values that are far between are shown each, on the line through them.
std::string dots_on(const std::vector<Bucket>& buckets, const Scales& scales, std::size_t index) {
  std::string svg;
  for (const Bucket& bucket : buckets) {
    svg += fmt::format("<circle class=\"line line-{} dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", index,
                       scales.px(bucket.step), scales.py(bucket.mean));
  }
  return svg;
}

bool is_sparse(const LineChart& chart, std::size_t index) {
  const std::size_t count = chart.lines[index].values.size();
  return index > 0 && count > 1 && count <= dots_max && 2 * count <= chart.lines[0].values.size();
}

std::string curve(const LineChart& chart, const Scales& scales, std::size_t index) {
  const Curve& line = chart.lines[index];
  const auto buckets = thinned(line.steps, line.values, buckets_max);
  if (buckets.empty()) return {};
  std::string svg;
  if (line.values.size() > buckets_max) svg += band(buckets, scales, index);
  if (index > 0 || !is_smoothed(chart)) {
    svg += line_through(buckets, scales, fmt::format("line line-{}", index));
    return is_sparse(chart, index) ? svg + dots_on(buckets, scales, index) : svg;
  }
  svg += line_through(buckets, scales, "raw");
  const auto means = smoothed(line.values, std::max<std::size_t>(3, line.values.size() / windows));
  return svg + line_through(thinned(line.steps, means, buckets_max), scales, "line line-0");
}

std::string bad_marks(const LineChart& chart, const Scales& scales) {
  std::string svg;
  for (const Curve& line : chart.lines) {
    const std::vector<double> steps = steps_without_number(line);
    const std::size_t every = 1 + steps.size() / bad_marks_max;
    for (std::size_t i = 0; i < steps.size(); i += every) {
      svg += fmt::format(
          "<path class=\"bad\" d=\"M{:.1f} {}l4 -8h-8z\"><title>step {:.0f}: {} is no finite "
          "number</title></path>\n",
          scales.px(steps[i]), bottom, steps[i], xml_text(line.name));
    }
  }
  return svg;
}

// For the script: [[[step, value], ...], ...].
std::string points_of(const LineChart& chart) {
  std::string points = "[";
  for (const Curve& line : chart.lines) {
    points += points.size() > 1 ? ",[" : "[";
    bool first = true;
    for (const Bucket& bucket : thinned(line.steps, line.values, buckets_max)) {
      points += fmt::format("{}[{:.7g},{:.6g}]", first ? "" : ",", bucket.step, bucket.mean);
      first = false;
    }
    points += "]";
  }
  return points + "]";
}

std::string legend(const LineChart& chart) {
  if (chart.lines.size() < 2 && !is_smoothed(chart)) return {};
  std::string html = "<ul class=\"legend\">";
  if (is_smoothed(chart)) html += "<li><i class=\"key-raw\"></i>each step</li>";
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const bool mean = i == 0 && is_smoothed(chart);
    const std::string name = chart.lines.size() == 1 ? "mean of neighbours" : chart.lines[i].name;
    html += fmt::format("<li data-line=\"{0}\"><i class=\"key-{0}\"></i>{1}</li>", i,
                        xml_text(mean && chart.lines.size() > 1 ? name + ", mean of neighbours" : name));
  }
  return html + "</ul>\n";
}

std::string facts(const LineChart& chart) {
  if (chart.lines.size() == 1) return paragraph(facts_of(chart.lines[0]), "facts");
  std::string html;
  for (const Curve& line : chart.lines) html += paragraph(line.name + ": " + brief_facts_of(line), "facts");
  return html;
}

std::string unit_of(const LineChart& chart, const Scales& scales) {
  if (!scales.y.logarithmic) return chart.unit;
  return chart.unit + (chart.unit.empty() ? "logarithmic scale" : ", logarithmic scale");
}

std::string plot_of(const LineChart& chart, const Scales& scales) {
  std::string svg = axes(chart, scales) + marks_of(chart, scales);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) svg += curve(chart, scales, i);
  return svg + bad_marks(chart, scales);
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  const Scales scales = scales_of(chart);
  const std::string unit = unit_of(chart, scales);
  std::string html =
      fmt::format("<figure class=\"chart\">\n<figcaption>{}{}</figcaption>\n", xml_text(chart.title),
                  unit.empty() ? "" : fmt::format(" <small>{}</small>", xml_text(unit)));
  html += fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} by step\" "
      "data-frame=\"[{},{},{:.7g},{:.7g}]\" data-points=\"{}\">\n",
      chart_width, foot, xml_text(chart.title), left, right, scales.x.low, scales.x.high, points_of(chart));
  html += plot_of(chart, scales);
  html += fmt::format("<path class=\"cursor\" d=\"M0 {}V{}\"/>\n</svg>\n", top, bottom);
  return html + legend(chart) + "<output></output>\n" + facts(chart) + "</figure>\n";
}

std::string line_chart_svg(const LineChart& chart) {
  const Scales scales = scales_of(chart);
  const std::string unit = unit_of(chart, scales);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 {} {} {}\" "
      "font-family=\"sans-serif\">\n<style>{}</style>\n<rect class=\"card\" y=\"{}\" width=\"{}\" "
      "height=\"{}\"/>\n",
      2 * chart_width, 2 * (foot + title_height), -title_height, chart_width, foot + title_height,
      page_style(), -title_height, chart_width, foot + title_height);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"-6\">{}{}</text>\n", left, xml_text(chart.title),
                     unit.empty() ? "" : ", " + xml_text(unit));
  return svg + plot_of(chart, scales) + "</svg>\n";
}

}  // namespace d9d::report
