#include "runtime/launch/device_places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int delayed_devices_max = 8;  // runtime/devices/delayed

bool is_dynamic(const JobConfig& job) {
  return job.trainer.pipelining.order == CursorOrder::dynamic;
}

DeviceRange part_of(DeviceRange all, const Share& share) {
  const int begin = all.count * share.index / share.count;
  const int end = all.count * (share.index + 1) / share.count;
  return {all.first + begin, end - begin};
}

// Of the process that has the fewest: all processes of a host make the same of it.
int smallest_part(int devices, const HostShare& share) {
  const bool bound = share.devices_bound || devices < share.launched.count;
  return (bound ? devices : devices / share.launched.count) / share.worker.count;
}

}  // namespace

DeviceRange part_of_devices(int devices, const HostShare& share) {
  const bool bound = share.devices_bound || devices < share.launched.count;
  return part_of(bound ? DeviceRange{0, devices} : part_of({0, devices}, share.launched), share.worker);
}

int delayed_devices(int ranks_here) {
  return std::min(ranks_here, delayed_devices_max);
}

DevicePlaces device_places(const JobConfig& job, int ranks_here, int devices_here, const HostShare& share) {
  const NodeConfig& node = job.node;
  // A process's delayed devices are its own.
  const bool own = node.device == DeviceKind::delayed;
  const int on_host = own ? devices_here * share.launched.count * share.worker.count : devices_here;
  const auto devices = static_cast<int>(std::min<std::int64_t>(node.devices.value_or(on_host), 1 << 20));
  D9D_REQUIRE(devices <= on_host,
              "node.devices is {}, and this host has {}: set node.devices to {}, or leave it out", devices,
              on_host, on_host);
  const DeviceRange part = part_of_devices(devices, share);
  const DevicePlaces places{.devices = std::max(1, std::min(part.count, ranks_here)),
                            .first = own ? 0 : part.first};
  const bool shared = smallest_part(devices, share) < ranks_here;
  const bool is_alone = ranks_here == 1 && job.mesh.world_size() == 1;
  const bool chosen = node.collectives.has_value();
  if (!chosen && (node.device != DeviceKind::cuda || shared || is_dynamic(job) || is_alone)) return places;
  D9D_REQUIRE(!chosen || node.collectives != CollectivesKind::nccl || !shared,
              "node.device: {} and node.collectives: nccl, and {} ranks share {}: NCCL takes one rank for "
              "each device; set node.collectives: local, or let mesh have {}",
              node.device == DeviceKind::cuda ? "cuda" : "delayed", ranks_here,
              places.devices == 1 ? "a device" : fmt::format("{} devices", places.devices),
              places.devices == 1 ? "one rank" : fmt::format("{} ranks", places.devices));
  return {places.devices, node.collectives.value_or(CollectivesKind::nccl), places.first};
}

}  // namespace d9d
