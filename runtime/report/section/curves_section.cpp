#include "runtime/report/section/curves_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/count.hpp"
#include "runtime/report/chart/axis.hpp"
#include "runtime/report/chart/line_chart.hpp"
#include "runtime/report/html.hpp"
#include "runtime/report/numbers/readable_names.hpp"
#include "runtime/report/verdict.hpp"

namespace d9d::report {
namespace {

constexpr std::size_t other_charts_max = 18;
constexpr std::size_t rows_max = 40;
constexpr double bytes_of_gib = 1024.0 * 1024 * 1024;
constexpr const char* experts_prefix = "metrics/expert_load/";
constexpr const char* bytes_ending = "_bytes";

// Told elsewhere: as time, or as the sum of tokens.
const std::set<std::string>& not_drawn() {
  static const std::set<std::string> names{"time", "tokens", "tokens_total", "epoch", "evaluation/tokens"};
  return names;
}

struct Known {
  const char* name;
  LineChart chart;
};

const std::vector<Known>& known_charts() {
  static const std::vector<Known> charts{
      {"loss", {.title = "Loss", .unit = "nats per token", .smooth = true}},
      {"grad_norm", {.title = "Gradient norm", .unit = "before clipping", .smooth = true}},
      {"lr", {.title = "Learning rate", .from_zero = true, .never_logarithmic = true}},
      {"tokens_per_second", {.title = "Throughput", .unit = "tokens/s", .from_zero = true, .smooth = true}},
      {"mfu",
       {.title = "Model FLOP utilisation", .unit = "share of the peak", .from_zero = true, .smooth = true}},
      {"step_seconds", {.title = "Step time", .unit = "seconds", .from_zero = true, .smooth = true}}};
  return charts;
}

bool is_known(const std::string& name) {
  return std::any_of(known_charts().begin(), known_charts().end(),
                     [&](const Known& each) { return name == each.name; });
}

bool is_constant(const Curve& curve) {
  return std::all_of(curve.values.begin(), curve.values.end(),
                     [&](double value) { return value == curve.values[0]; });
}

// Bytes are drawn in GiB.
LineChart memory_chart(Curve curve) {
  const std::string title = curve.name == "memory_bytes" ? "Memory of node 0" : curve.name;
  for (double& value : curve.values) value /= bytes_of_gib;
  LineChart chart{.title = title, .unit = "GiB", .from_zero = true};
  chart.lines.push_back(std::move(curve));
  return chart;
}

// "metrics/expert_load/layer_3/max_over_mean" -> "max_over_mean", "layer_3".
std::pair<std::string, std::string> expert_value(const std::string& name) {
  const std::string rest = name.substr(std::string(experts_prefix).size());
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string::npos) return {rest, "worst layer"};
  return {rest.substr(slash + 1), rest.substr(0, slash)};
}

std::vector<LineChart> expert_charts(const Curves& curves) {
  std::map<std::string, LineChart> by_value;
  for (const Curve& curve : curves.all) {
    if (!curve.name.starts_with(experts_prefix)) continue;
    const auto [value, layer] = expert_value(curve.name);
    LineChart& chart = by_value[value];
    chart.title = "Expert load: " + value;
    chart.unit = "1 = all experts alike";
    chart.from_zero = true;
    if (chart.lines.size() < lines_max) chart.lines.push_back({layer, curve.steps, curve.values});
  }
  std::vector<LineChart> charts;
  for (auto& [value, chart] : by_value) charts.push_back(std::move(chart));
  return charts;
}

// The evaluation's line of a number that training has as well: of one value it is a point.
void add_evaluation(LineChart& chart, const Curves& curves, const std::string& name) {
  const Curve* evaluation = curves.find(evaluation_prefix + name);
  if (evaluation == nullptr) return;
  chart.lines[0].name = "training";
  chart.lines.push_back({"evaluation", evaluation->steps, evaluation->values});
}

// A line without a change, beside which there is none of an evaluation that changes. One value of those is a point.
bool is_dull(const Curve& curve, const Curve* evaluation) {
  if (!is_constant(curve)) return false;
  if (curve.values.size() == 1) return evaluation == nullptr && evaluated_name(curve.name).empty();
  return evaluation == nullptr || is_constant(*evaluation);
}

// What a task or a plugin has logged, and what only evaluations have.
std::vector<LineChart> other_charts(const Curves& curves) {
  std::vector<LineChart> charts;
  for (const Curve& curve : curves.all) {
    const std::string evaluated = evaluated_name(curve.name);
    const bool told =
        is_known(curve.name) || not_drawn().contains(curve.name) || curve.name.starts_with(experts_prefix) ||
        curve.name.ends_with(bytes_ending) ||
        (!evaluated.empty() && curves.find(evaluated) != nullptr && !not_drawn().contains(evaluated));
    if (told || is_dull(curve, curves.find(evaluation_prefix + curve.name))) continue;
    LineChart chart{.title = readable_name(curve.name)};
    chart.lines.push_back(curve);
    add_evaluation(chart, curves, curve.name);
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::vector<LineChart> all_charts(const Curves& curves, std::size_t& left_out) {
  std::vector<LineChart> charts;
  for (const Known& each : known_charts()) {
    const Curve* curve = curves.find(each.name);
    if (curve == nullptr) continue;
    charts.push_back(each.chart);
    charts.back().lines.push_back(*curve);
    add_evaluation(charts.back(), curves, each.name);
  }
  for (const Curve& curve : curves.all) {
    if (curve.name.ends_with(bytes_ending)) charts.push_back(memory_chart(curve));
  }
  for (LineChart& chart : expert_charts(curves)) charts.push_back(std::move(chart));
  auto others = other_charts(curves);
  left_out = others.size() > other_charts_max ? others.size() - other_charts_max : 0;
  others.resize(others.size() - left_out);
  for (LineChart& chart : others) charts.push_back(std::move(chart));
  return charts;
}

// First, last, lowest and highest of every number: also of those without a chart.
std::string summary_table(const Curves& curves) {
  std::vector<std::vector<Cell>> rows;
  for (const Curve& curve : curves.all) {
    if (curve.name == "time") continue;
    std::vector<double> finite;
    for (const double value : curve.values) {
      if (std::isfinite(value)) finite.push_back(value);
    }
    std::vector<Cell> row{
        {readable_name(curve.name)}, {curve.name}, number_cell(fmt::format("{}", curve.values.size()))};
    const auto add = [&](double value) { row.push_back(number_cell(fmt::format("{:.6g}", value))); };
    if (finite.empty()) {
      row.resize(7, number_cell("-"));
    } else {
      add(finite.front());
      add(finite.back());
      add(*std::min_element(finite.begin(), finite.end()));
      add(*std::max_element(finite.begin(), finite.end()));
    }
    rows.push_back(std::move(row));
  }
  return table({{"number"},
                {"in metrics.jsonl"},
                number_cell("steps"),
                number_cell("first"),
                number_cell("last"),
                number_cell("lowest"),
                number_cell("highest")},
               rows);
}

double value_at(const Curve& curve, double step) {
  const auto found = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (found == curve.steps.end() || *found != step) return std::nan("");
  return curve.values[static_cast<std::size_t>(found - curve.steps.begin())];
}

// Steps over the whole run with their main numbers.
std::string steps_table(const Curves& curves) {
  std::vector<const Curve*> columns;
  std::vector<Cell> heads{number_cell("step")};
  for (const Known& each : known_charts()) {
    if (const Curve* curve = curves.find(each.name)) {
      columns.push_back(curve);
      heads.push_back(number_cell(each.chart.title));
    }
  }
  if (columns.empty()) return {};
  const std::vector<double>& steps = columns[0]->steps;
  const std::size_t count = std::min(rows_max, steps.size());
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (steps.size() - 1) / (count - 1);
    std::vector<Cell> row{number_cell(fmt::format("{:.0f}", steps[at]))};
    for (const Curve* curve : columns) {
      const double value = value_at(*curve, steps[at]);
      row.push_back(number_cell(std::isfinite(value) ? fmt::format("{:.6g}", value) : "-"));
    }
    rows.push_back(std::move(row));
  }
  return table(heads, rows);
}

// Which of page_style's rules make the first charts wider, so that no row of two or of three has a hole.
std::string fills_rows(std::size_t charts) {
  if (charts == 1) return " one";
  std::string classes = charts % 2 == 1 ? " odd" : "";
  if (charts % 3 != 0) classes += fmt::format(" lacks-{}", 3 - charts % 3);
  return classes;
}

std::string missing_text(const RunFolder& run) {
  const Curves& curves = run.curves;
  std::string text;
  const auto has = [&](const char* part) {
    return std::any_of(curves.all.begin(), curves.all.end(),
                       [&](const Curve& curve) { return curve.name.find(part) != std::string::npos; });
  };
  const config::Json experts = run.key("/model_provider/model/num_experts");
  if (experts.is_number() && !has(experts_prefix))
    text += hint(
        "The load of the experts was not logged: trainer.logging.expert_load: model (or layers) switches it "
        "on.");
  if (!has(bytes_ending))
    text += paragraph("Memory was not logged: the run was made by a version before memory_bytes.", "soft");
  return text;
}

}  // namespace

std::string curves_section(const RunFolder& run) {
  const Curves& curves = run.curves;
  if (curves.all.empty()) {
    return section(
        "curves", "Curves",
        hint("There are no numbers: metrics.jsonl is missing or empty. Every job writes it into its "
             "output_dir with the first step; this run has finished none, or the file was moved."));
  }
  const Curve elapsed = elapsed_time(run);
  std::vector<ChartMark> marks;
  for (const std::uint64_t step : resumed_after(run))
    marks.push_back({static_cast<double>(step) + 0.5, fmt::format("started again after step {}", step)});
  std::size_t left_out = 0;
  std::string charts;
  std::size_t count = 0;
  for (LineChart& chart : all_charts(curves, left_out)) {
    ++count;
    chart.marks = marks;
    if (!elapsed.values.empty()) chart.elapsed = &elapsed;
    charts += line_chart(chart);
  }
  std::string html = fmt::format("<div class=\"charts{}\">\n{}</div>\n", fills_rows(count), charts);
  if (!marks.empty()) html += paragraph("Dashed lines: the run was started again there.", "soft");
  if (left_out > 0)
    html += paragraph(fmt::format("{} without a chart; the table has them.", counted(left_out, "number")),
                      "soft");
  if (curves.unreadable_lines > 0)
    html +=
        hint(fmt::format("{} of metrics.jsonl cannot be read.", counted(curves.unreadable_lines, "line")));
  html += missing_text(run);
  html += details("All numbers", summary_table(curves));
  html += details("Steps as a table", steps_table(curves));
  return section("curves", "Curves", html);
}

}  // namespace d9d::report
