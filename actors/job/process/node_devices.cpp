#include "actors/job/process/node_devices.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/launch/process_place.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {
namespace {

void require_protected(const JobConfig& job, const std::string& host) {
  const NodeConfig& node = job.node;
  if (node.device == DeviceKind::cpu || !node.tls || node.clear_collectives) return;
  D9D_REQUIRE(
      is_loopback(host),
      "node.tls protects all that nodes send, but NCCL sends what devices of several hosts exchange in "
      "clear, and {} leads beyond this host: set node.clear_collectives: true in a network you trust, or "
      "node.device: cpu",
      host);
}

}  // namespace

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

DevicePlugin load_devices(DeviceKind kind) {
  return DevicePlugin(kind == DeviceKind::cuda ? DeviceLibrary::cuda : DeviceLibrary::delayed);
}

void require_protected_collectives(const JobConfig& job, int ranks_here, const RunOptions& options) {
  if (has_whole_mesh(job, ranks_here, options.share)) return;
  const auto look_at = [&](const std::optional<std::string>& address, const char* key) {
    if (address) require_protected(job, parse_host_port(*address, key).host);
  };
  look_at(options.join, "--join");
  look_at(options.listen ? options.listen : options.join ? std::nullopt : job.node.listen, "--listen");
}

void require_protected_collectives(const JobConfig& job, int ranks_here, const HostShare& share,
                                   const std::vector<HostPort>& nodes) {
  if (has_whole_mesh(job, ranks_here, share)) return;
  for (const HostPort& node : nodes) {
    if (!node.host.empty()) require_protected(job, node.host);
  }
}

}  // namespace d9d
