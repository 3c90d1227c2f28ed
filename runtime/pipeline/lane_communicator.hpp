#pragma once
// The communicator of a module whose actions may run on either of two lanes.

#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/pipeline/compute_lanes.hpp"

namespace d9d {

// One communicator per lane over the same ranks: each call goes to that of the calling lane (on other threads
// to the first), and whatever waits lets the other lane compute meanwhile. All ranks of the group have to use
// it in two lanes alike. `lanes` outlives it.
std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes);

}  // namespace d9d
