#pragma once
// When a recurring action is due: every so many steps (a positive number),
// "last_step" or "disable" (LOOP-11).

#include <cstdint>

#include "runtime/base/config/codec.hpp"

namespace d9d::config {

struct Period {
  enum class Kind { every, last_step, disable };

  Kind kind = Kind::disable;
  std::int64_t steps = 0;  // of Kind::every; > 0

  static Period every(std::int64_t steps) { return {Kind::every, steps}; }
  static Period last_step() { return {Kind::last_step, 0}; }
  static Period disable() { return {}; }
  bool operator==(const Period&) const = default;
};

// Whether the action is due when `steps_done` (from 1) of `steps_total` steps are done.
// `also_last`: a periodic action also runs at the end.
bool is_due(const Period& period, std::int64_t steps_done, std::int64_t steps_total, bool also_last);

template <>
struct Codec<Period> {
  static std::string type() { return "int > 0 \\| last_step \\| disable"; }
  static bool read(Period& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const Period& period);
};

}  // namespace d9d::config
