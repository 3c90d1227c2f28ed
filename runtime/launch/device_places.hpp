#pragma once
// On which device of this host each of its ranks computes, and how their devices reach each other. No torch.

#include "runtime/job/job_config.hpp"
#include "runtime/launch/host_share.hpp"

namespace d9d {

struct DevicePlaces {
  int devices = 1;  // the ranks take them in turn, by their index in the process
  CollectivesKind collectives = CollectivesKind::local;
  int first = 0;  // of them on this host

  int of(int local_index) const { return first + local_index % devices; }
};

struct DeviceRange {
  int first = 0;
  int count = 1;
};
// Which devices of a host a process takes. Fewer than the launcher's processes: it has left to each of them its own.
DeviceRange part_of_devices(int devices, const HostShare& share);

// Of a process of a job with devices. Input error that names the key where the host has too few of them, or where NCCL
// would have to join ranks that share a device. `devices_here`: of the host; of `delayed`, of this process.
DevicePlaces device_places(const JobConfig& job, int ranks_here, int devices_here,
                           const HostShare& share = {});
// Of `device: delayed`, which needs no hardware: one for each rank, at most eight.
int delayed_devices(int ranks_here);

}  // namespace d9d
