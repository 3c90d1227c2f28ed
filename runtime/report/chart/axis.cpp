#include "runtime/report/chart/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/tick_step.hpp"

namespace d9d::report {
namespace {

struct Magnitude {
  double factor;
  const char* sign;
};

// Of numbers up to `largest`: thousands, millions and so on from five digits before the point.
Magnitude magnitude_of(double largest) {
  for (const Magnitude& each :
       {Magnitude{1e12, "T"}, Magnitude{1e9, "G"}, Magnitude{1e6, "M"}, Magnitude{1e3, "k"}}) {
    if (largest >= 10 * each.factor || (each.factor > 1e3 && largest >= each.factor)) return each;
  }
  return {1, ""};
}

int decimals_of(double step) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
}

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

constexpr double smallest_plain = 1e-3;

}  // namespace

double Axis::place(double value) const {
  if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

std::string tick_label(double value, double step, double largest) {
  if (value == 0) return "0";
  if (largest < smallest_plain) {
    const double exponent = std::floor(std::log10(largest));
    const double power = std::pow(10.0, exponent);
    return fmt::format("{:.{}f}e{:.0f}", value / power, decimals_of(step / power), exponent);
  }
  const Magnitude unit = magnitude_of(largest);
  return fmt::format("{:.{}f}{}", value / unit.factor, decimals_of(step / unit.factor), unit.sign);
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : "infinite";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < smallest_plain) return fmt::format("{:.3g}", value);
  const Magnitude unit = magnitude_of(size);
  const double scaled = value / unit.factor;
  const int before = static_cast<int>(std::floor(std::log10(std::abs(scaled)))) + 1;
  return without_trailing_zeros(fmt::format("{:.{}f}", scaled, std::clamp(4 - before, 0, 6))) + unit.sign;
}

Axis linear_axis(double low, double high, int count) {
  if (!(high > low)) {
    const double around = std::max(std::abs(low) * 0.1, 1e-9);
    low -= around;
    high += around;
  }
  Axis axis{.low = low, .high = high};
  const double step = tick_step(high - low, count);
  const double largest = std::max(std::abs(low), std::abs(high));
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    axis.ticks.push_back({i * step, tick_label(i * step, step, largest)});
  }
  return axis;
}

Axis logarithmic_axis(double low, double high, int count) {
  if (!(high > low)) {
    low *= 0.5;
    high *= 2;
  }
  Axis axis{.low = low, .high = high, .logarithmic = true};
  const double first = std::ceil(std::log10(low) - 1e-9), last = std::floor(std::log10(high) + 1e-9);
  const double between = std::max(1.0, std::ceil((last - first + 1) / count));
  for (double power = first; power <= last; power += between) {
    axis.ticks.push_back({std::pow(10.0, power), short_number(std::pow(10.0, power))});
  }
  if (axis.ticks.size() < 2) {  // less than a power of ten between the ends
    axis.ticks = linear_axis(low, high, count).ticks;
    std::erase_if(axis.ticks, [&](const Tick& tick) { return tick.value < low; });
  }
  return axis;
}

}  // namespace d9d::report
