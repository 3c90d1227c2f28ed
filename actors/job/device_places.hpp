#pragma once
// On which device of this host each of its ranks computes, and how their devices reach each other. No torch.

#include "runtime/task/job_config.hpp"

namespace d9d {

struct DevicePlaces {
  int devices = 1;  // the ranks take them in turn, by their index on the host
  CollectivesKind collectives = CollectivesKind::local;

  int of(int local_index) const { return local_index % devices; }
};

// Of a job with devices. Input error that names the key where the host has too few of them, or where NCCL would have to
// join ranks that share a device.
DevicePlaces device_places(const JobConfig& job, int ranks_here, int devices_here);
// Of `device: delayed`, which needs no hardware: one for each rank, at most eight.
int delayed_devices(int ranks_here);

}  // namespace d9d
