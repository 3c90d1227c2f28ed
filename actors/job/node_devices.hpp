#pragma once
// Where the ranks of one node compute in a job of one or several nodes. No torch.

#include <string>
#include <vector>

#include "runtime/base/host/host_port.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/launch/device_places.hpp"

namespace d9d {

// device_places(), and what devices of several nodes need: NCCL, which `node.collectives: null` then means. Input error
// that names the key where ranks here share a device, or where the job wants `local` collectives.
DevicePlaces places_on_node(const JobConfig& job, int ranks_here, int devices_here,
                            const HostShare& share = {});

// Of `cuda` or `delayed`.
DevicePlugin load_devices(DeviceKind kind);

struct RunOptions;

// Input error where a job under TLS would send what its devices exchange in clear, unless it says that it may: NCCL has
// no TLS. Of nodes that all are on loopback, or that one command has started, nothing leaves the host. Before the nodes
// have met: the addresses given to this one. When they have: those of all nodes, where an empty host is this one's.
void require_protected_collectives(const JobConfig& job, int ranks_here, const RunOptions& options);
void require_protected_collectives(const JobConfig& job, int ranks_here, const HostShare& share,
                                   const std::vector<HostPort>& nodes);

}  // namespace d9d
