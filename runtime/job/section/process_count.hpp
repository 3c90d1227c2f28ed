#pragma once
// How many processes of a host one command starts, as `node.processes` says it.

#include <cstdint>

#include "runtime/base/config/codec.hpp"

namespace d9d {

struct ProcessCount {
  std::int64_t count = 1;   // > 0; without meaning where there is one for each device
  bool per_device = false;  // one for each device that the job takes on this host

  bool operator==(const ProcessCount&) const = default;
};

}  // namespace d9d

template <>
struct d9d::config::Codec<d9d::ProcessCount> {
  static std::string type() { return "int > 0 \\| per_device"; }
  static bool read(ProcessCount& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const ProcessCount& processes);
};
