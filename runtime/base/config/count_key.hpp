#pragma once
// A key that is a whole number of at least 1, for sections that say no ranges in keys_of(): a size, a period.

#include <fmt/format.h>

#include <cstdint>

#include "runtime/base/config/codec.hpp"

namespace d9d::config {

class Count {
 public:
  constexpr Count(std::int64_t value) : value_(value) {}      // NOLINT: converts on purpose
  constexpr operator std::int64_t() const { return value_; }  // NOLINT: as above

 private:
  std::int64_t value_;
};

template <>
struct Codec<Count> {
  static std::string type() { return "int > 0"; }
  static bool read(Count& out, const Node& node, const Path& path, Problems& problems) {
    using Limits = std::numeric_limits<std::int64_t>;
    const auto value = read_integer(node, path, problems, Limits::min(), Limits::max());
    if (value && *value < 1) return wrong_type(node, path, problems, "a whole number of at least 1", "");
    return assign(out, value);
  }
  static Json write(Count count) { return static_cast<std::int64_t>(count); }
};

}  // namespace d9d::config

// fmt 10 and newer take no other type for the number that it converts to.
template <>
struct fmt::formatter<d9d::config::Count> : fmt::formatter<std::int64_t> {
  auto format(d9d::config::Count count, fmt::format_context& context) const {
    return fmt::formatter<std::int64_t>::format(count, context);
  }
};
