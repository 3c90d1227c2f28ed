#include "runtime/report/chart_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/count.hpp"
#include "runtime/report/axis.hpp"

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

}  // namespace

std::string facts_of(const Curve& line) {
  std::size_t first = 0, last = 0, lowest = 0, highest = 0, count = 0;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const double value = line.values[i];
    if (!std::isfinite(value)) continue;
    if (count++ == 0) first = lowest = highest = i;
    last = i;
    if (value < line.values[lowest]) lowest = i;
    if (value > line.values[highest]) highest = i;
  }
  if (count == 0) return "no finite number" + bad_text(line);
  const auto of = [&](std::size_t i) { return short_number(line.values[i]); };
  if (line.values[lowest] == line.values[highest]) return of(first) + " throughout" + bad_text(line);
  return fmt::format("first {}, last {}; lowest {} at step {:.0f}, highest {} at step {:.0f}{}", of(first),
                     of(last), of(lowest), line.steps[lowest], of(highest), line.steps[highest],
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
