#pragma once
// Wraps the communicators of a rank's modules: with one for each compute lane, and with spans of their
// calls. No torch in this header.

#include <functional>

#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/rank/group/comm_tracing.hpp"

namespace d9d {

class ComputeLanes;
class Device;

// Opens communicators that both compute lanes may use at the same time (lane_communicator.hpp): one for each
// lane. `lanes` is called when the first group of more than one rank is opened, and must outlive the result.
// `device`: null for the CPU.
OpenGroup with_lane_communicators(OpenGroup open, std::function<ComputeLanes&()> lanes,
                                  const Device* device = nullptr);

// Opens communicators whose calls are measured. Calls from the thread that calls with_tracing(), or from
// lane 1, are reported to `tracing.in_compute`, and unless both lanes run also to `tracing.stalls`: while
// two lanes run, the other one computes. Calls from other threads are not reported; these threads measure
// themselves. `lanes` may return null. If the functions of `tracing` are empty, the result is `open`.
OpenGroup with_tracing(OpenGroup open, CommTracing tracing, std::function<const ComputeLanes*()> lanes);

}  // namespace d9d
