#pragma once
// The communicator of a module whose actions may run on either of two lanes.

#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"

namespace d9d {

// `by_lane`: one communicator for each lane, over the same ranks. A call uses that of the calling lane (on
// other threads the first one). While a call waits, the other lane computes. All ranks of the group have to
// use both lanes. Keeps a reference to `lanes`.
std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes);

}  // namespace d9d
