#pragma once
// Where the ranks of one node compute in a job of one or several nodes. No torch.

#include "actors/job/device_places.hpp"

namespace d9d {

// device_places(), and what devices of several nodes need: NCCL, which `node.collectives: null` then means. Input error
// that names the key where ranks here share a device, or where the job wants `local` collectives.
DevicePlaces places_on_node(const JobConfig& job, int ranks_here, int devices_here,
                            const HostShare& share = {});

}  // namespace d9d
