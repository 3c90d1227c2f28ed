#pragma once
// The communicator of a module whose actions may run on either of two lanes.

#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"

namespace d9d {

class Device;

// `by_lane`: one communicator for each lane, over the same ranks. A call uses that of the calling lane (on
// other threads the first one). While a call waits, the other lane computes. All ranks of the group have to
// use both lanes. `device`: of the tensors; null: the CPU. On a device no call waits: there the other lane gives its
// work where this one has come to a result that its stage needs (wait() on a compute stream). Keeps references to
// `lanes` and `device`.
std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes, const Device* device = nullptr);

}  // namespace d9d
