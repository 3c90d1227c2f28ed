#pragma once
// `node.device` of a job: the devices of this host, which rank takes which GPU, and the memory
// that it needs there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/host/cuda_driver.hpp"
#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/launch/process_place.hpp"

namespace d9d {

struct DeviceSummary {
  std::optional<CudaDriver> driver;
  std::vector<RankMemory> ranks;  // by pipeline rank; empty for a plugin's model
};

struct GpuNeed {
  int gpu = 0;
  int num_ranks = 0;
  std::vector<int> ranks;        // empty: not known before the job forms; then each counts as the largest
  std::int64_t state = 0;        // parameters, gradients, optimizer: independent of the microbatch
  std::int64_t bytes = 0;        // everything, with the context; 0 for a plugin's model
  std::int64_t bytes_there = 0;  // memory of the GPU; 0: this host has no such GPU
};
// The need of each GPU that one process of a job with `device: cuda` takes. Throws
// the errors of device_places().
std::vector<GpuNeed> gpu_needs(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);

// How many devices of this host ranks can take: for `cuda` those of the driver, for `delayed` those of
// `ranks` ranks, for `cpu` none.
int devices_here(const JobConfig& job, int ranks, const std::optional<CudaDriver>& driver);

// The lines of `check` about GPUs; empty unless the job has `device: cuda`.
// `places`: this command's processes.
std::string device_text(const JobConfig& job, const std::vector<ProcessPlace>& places,
                        const DeviceSummary& summary);
// The ranks and GPUs of a process, as "ranks 2, 3 on GPU 1".
std::string process_text(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);
config::Json to_json(const DeviceSummary& summary);

// Checks that the ranks of this process have devices. Input error with the remedy: a device is taken by
// ranks of other processes, there are too few, or ranks cannot share one. With `device: cuda` also: no
// driver, an old driver, or parameters and optimizer that are larger than a GPU.
void require_places(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);
// The same in the process that computes: loads the plugin, and is also an input error without plugin or NCCL.
void require_device(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);

}  // namespace d9d
