#pragma once
// Constants that writer and reader of the trace files share.

#include <fmt/format.h>

#include <cstdint>

namespace d9d::trace {

inline constexpr int trace_format_version = 1;
inline constexpr const char* trace_format_key =
    "d9d";  // the object with job, node and clock, after the events

// Process ids of the viewer: ranks from 1 (0 means "idle" to Perfetto), nodes far above.
inline constexpr int first_node_pid = 1'000'000;
constexpr int rank_pid(int rank) {
  return rank + 1;
}
constexpr int node_pid(int node) {
  return first_node_pid + node;
}

// Nanoseconds, printed as microseconds with three decimals: exact, whatever the magnitude.
struct Micros {
  std::int64_t ns;
};

}  // namespace d9d::trace

template <>
struct fmt::formatter<d9d::trace::Micros> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const d9d::trace::Micros& time, Context& context) const {
    const auto bits = static_cast<std::uint64_t>(time.ns);
    const std::uint64_t magnitude = time.ns < 0 ? -bits : bits;
    return fmt::format_to(context.out(), "{}{}.{:03}", time.ns < 0 ? "-" : "", magnitude / 1000,
                          magnitude % 1000);
  }
};
