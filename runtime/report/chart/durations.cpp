#include "runtime/report/chart/durations.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <ctime>

#include "runtime/report/chart/axis.hpp"

namespace d9d::report {
namespace {

constexpr double minute = 60, hour = 3600, day = 86400;

std::string two_units(double seconds, double large, const char* large_name, double small,
                      const char* small_name) {
  const auto smalls = static_cast<std::int64_t>(std::llround(seconds / small));
  const auto per_large = static_cast<std::int64_t>(large / small);
  const std::int64_t rest = smalls % per_large;
  if (rest == 0) return fmt::format("{} {}", smalls / per_large, large_name);
  return fmt::format("{} {} {} {}", smalls / per_large, large_name, rest, small_name);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 1) return short_number(1e3 * seconds) + " ms";
  if (seconds < minute) return fmt::format("{:.1f} s", seconds);
  if (seconds < hour) return two_units(seconds, minute, "min", 1, "s");
  if (seconds < day) return two_units(seconds, hour, "h", minute, "min");
  return two_units(seconds, day, "d", hour, "h");
}

std::string short_duration(double seconds) {
  if (seconds < 0.1) return fmt::format("{:.0f} ms", 1e3 * seconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  if (seconds < 2 * day) return fmt::format("{:.1f} h", seconds / hour);
  return fmt::format("{:.1f} d", seconds / day);
}

std::string date_text(double seconds) {
  constexpr double year_10000 = 253402300800;  // beyond it, and before 1970, nobody has measured anything
  if (!(seconds >= 0 && seconds < year_10000)) return "?";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace d9d::report
