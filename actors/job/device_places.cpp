#include "actors/job/device_places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int delayed_devices_max = 8;  // runtime/device/delayed

bool is_dynamic(const JobConfig& job) {
  return job.trainer.pipelining.order == CursorOrder::dynamic;
}

}  // namespace

int delayed_devices(int ranks_here) {
  return std::min(ranks_here, delayed_devices_max);
}

DevicePlaces device_places(const JobConfig& job, int ranks_here, int devices_here) {
  const NodeConfig& node = job.node;
  const auto devices = static_cast<int>(std::min<std::int64_t>(node.devices.value_or(devices_here), 1 << 20));
  D9D_REQUIRE(devices <= devices_here,
              "node.devices is {}, and this host has {}: set node.devices to {}, or leave it out", devices,
              devices_here, devices_here);
  const DevicePlaces places{std::max(1, std::min(devices, ranks_here))};
  const bool shared = places.devices < ranks_here;
  const bool chosen = node.collectives.has_value();
  if (!chosen && (node.device != DeviceKind::cuda || shared || is_dynamic(job) || ranks_here == 1))
    return places;
  D9D_REQUIRE(!chosen || node.collectives != CollectivesKind::nccl || !shared,
              "node.device: {} and node.collectives: nccl, and {} ranks share {}: NCCL takes one rank for "
              "each device; set "
              "node.collectives: local, or let mesh have {}",
              node.device == DeviceKind::cuda ? "cuda" : "delayed", ranks_here,
              places.devices == 1 ? "a device" : fmt::format("{} devices", places.devices),
              places.devices == 1 ? "one rank" : fmt::format("{} ranks", places.devices));
  return {places.devices, node.collectives.value_or(CollectivesKind::nccl)};
}

}  // namespace d9d
