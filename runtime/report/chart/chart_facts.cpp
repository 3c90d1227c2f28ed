#include "runtime/report/chart/chart_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/count.hpp"
#include "runtime/report/chart/axis.hpp"

namespace d9d::report {
namespace {

constexpr std::size_t named_steps_max = 5;

std::string bad_text(const Curve& line) {
  const std::vector<double> steps = steps_without_number(line);
  if (steps.empty()) return {};
  std::string text = fmt::format("; no finite number at {}", counted(steps.size(), "step"));
  for (std::size_t i = 0; i < std::min(steps.size(), named_steps_max); ++i)
    text += fmt::format("{} {:.0f}", i == 0 ? ":" : ",", steps[i]);
  return text + (steps.size() > named_steps_max ? ", ..." : "");
}

// Places in the curve.
struct Extremes {
  std::size_t first = 0, last = 0, lowest = 0, highest = 0;
  std::size_t count = 0;  // of finite values
};

Extremes extremes_of(const Curve& line) {
  Extremes found;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const double value = line.values[i];
    if (!std::isfinite(value)) continue;
    if (found.count++ == 0) found.first = found.lowest = found.highest = i;
    found.last = i;
    if (value < line.values[found.lowest]) found.lowest = i;
    if (value > line.values[found.highest]) found.highest = i;
  }
  return found;
}

}  // namespace

std::string facts_of(const Curve& line) {
  const Extremes at = extremes_of(line);
  if (at.count == 0) return bad_text(line).substr(std::string("; ").size());
  const auto of = [&](std::size_t i) { return short_number(line.values[i]); };
  if (line.values[at.lowest] == line.values[at.highest]) return of(at.first) + " throughout" + bad_text(line);
  return fmt::format("first {}, last {}; lowest {} at step {:.0f}, highest {} at step {:.0f}{}", of(at.first),
                     of(at.last), of(at.lowest), line.steps[at.lowest], of(at.highest),
                     line.steps[at.highest], bad_text(line));
}

std::string brief_facts_of(const Curve& line) {
  const Extremes at = extremes_of(line);
  const auto of = [&](std::size_t i) { return short_number(line.values[i]); };
  if (at.count == 0 || line.values[at.lowest] == line.values[at.highest]) return facts_of(line);
  return fmt::format("{} \u2192 {} ({} to {}){}", of(at.first), of(at.last), of(at.lowest), of(at.highest),
                     bad_text(line));
}

std::vector<double> steps_without_number(const Curve& line) {
  std::vector<double> steps;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    if (!std::isfinite(line.values[i])) steps.push_back(line.steps[i]);
  }
  return steps;
}

}  // namespace d9d::report
