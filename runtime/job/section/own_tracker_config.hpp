#pragma once
// A tracker that a plugin registers.

#include "runtime/base/config/section.hpp"

namespace d9d {

// `provider: x`, and the keys that the plugin's tracker x declares.
struct OwnTracker : config::Named {};

template <>
struct config::Codec<OwnTracker> {
  static std::string type() { return "section of a plugin's tracker"; }
  static bool read(OwnTracker& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const OwnTracker& tracker);
  static void tables(Reference& reference, const std::string& path, const OwnTracker&);
};

}  // namespace d9d
