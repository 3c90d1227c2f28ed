#pragma once
// One kernel or copy that a device ran, for a trace.

#include <cstdint>
#include <string>

#include "runtime/device/stream_role.hpp"

namespace d9d {

struct KernelRun {
  std::string name;  // "aten::mul", "d9d::cuda::rms_norm<float>"
  StreamRole stream = StreamRole::compute;
  std::int64_t begin_ns = 0, end_ns = 0;  // of SystemClock
};

}  // namespace d9d
