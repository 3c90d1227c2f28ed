#include "actors/job/node_devices.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"

namespace d9d {

DevicePlaces places_on_node(const JobConfig& job, int ranks_here, int devices_here, const HostShare& share) {
  DevicePlaces places = device_places(job, ranks_here, devices_here, share);
  if (ranks_here == job.mesh.world_size()) return places;
  const char* const device = job.node.device == DeviceKind::cuda ? "cuda" : "delayed";
  D9D_REQUIRE(
      job.node.collectives != CollectivesKind::local,
      "node.device: {} and node.collectives: local, and this node has {} of the mesh's {} ranks: only "
      "NCCL joins devices of several nodes; set node.collectives: nccl, or start one node",
      device, ranks_here, job.mesh.world_size());
  D9D_REQUIRE(
      places.devices >= ranks_here,
      "node.device: {}, and {} of the mesh's {} ranks share {} of this node: devices of several nodes "
      "take one rank each; start {} here (--ranks), or raise node.devices",
      device, ranks_here, job.mesh.world_size(),
      places.devices == 1 ? "a device" : fmt::format("{} devices", places.devices),
      places.devices == 1 ? "one rank" : fmt::format("{} ranks", places.devices));
  places.collectives = CollectivesKind::nccl;
  return places;
}

}  // namespace d9d
