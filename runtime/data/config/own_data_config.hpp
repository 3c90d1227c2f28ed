#pragma once
// `data` with a source that a plugin registers.

#include "runtime/base/config/section.hpp"
#include "runtime/data/config/epochs.hpp"
#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

// `source: x`, `epochs`, `order`, and the keys that the plugin's source x declares.
struct OwnDataConfig : config::Named {
  Epochs epochs;
  SampleOrder order;
};

template <>
struct config::Codec<OwnDataConfig> {
  static std::string type() { return "section of a plugin's source"; }
  static bool read(OwnDataConfig& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const OwnDataConfig& config);
  static void tables(Reference& reference, const std::string& path, const OwnDataConfig&);
};

}  // namespace d9d
