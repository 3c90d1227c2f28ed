#pragma once
// On which devices the ranks of one node compute, and whether they may. No torch.

#include <vector>

#include "runtime/base/host/host_port.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/launch/device_places.hpp"

namespace d9d {

// Returns device_places(). In a job of several nodes their collectives are NCCL's; then it is an input
// error with the key if ranks here share a device, or if the job asks for `local` collectives.
DevicePlaces places_on_node(const JobConfig& job, int ranks_here, int devices_here,
                            const HostShare& share = {});

// `kind`: cuda or delayed.
DevicePlugin load_devices(DeviceKind kind);

struct RunOptions;

// Input error if the devices of a job with TLS would exchange data in clear over a network, because NCCL
// has no TLS. The key node.clear_collectives allows it. Nodes on loopback and nodes of one command are
// fine: nothing leaves the host. The first form looks at the addresses that this process was given, before
// the nodes have met; the second one at those of all nodes, where an empty host means this host.
void require_protected_collectives(const JobConfig& job, int ranks_here, const RunOptions& options);
void require_protected_collectives(const JobConfig& job, int ranks_here, const HostShare& share,
                                   const std::vector<HostPort>& nodes);

}  // namespace d9d
