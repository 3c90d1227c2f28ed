#pragma once
// `node.device` of a job: what this host has, which rank takes which GPU, and what it would need there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/cli/view/memory.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/base/host/cuda_driver.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/launch/process_place.hpp"

namespace d9d {

// Of a rank on its GPU, estimated: parameters, gradients, optimizer (moments and master weights), activations, logits.
// Copies for checkpoints are on the host. CUDA's context comes on top, once for each GPU, and NCCL's buffers.
std::int64_t device_bytes(const RankMemory& rank);

ExpectedMemory expected_of(const RankMemory& rank);

struct DeviceSummary {
  std::optional<CudaDriver> driver;
  std::vector<RankMemory> ranks;  // by pipeline rank; empty for a plugin's model
};

struct GpuNeed {
  int gpu = 0;
  int num_ranks = 0;
  std::vector<int>
      ranks;  // empty: known when the job has formed; the largest need counts for each until then
  std::int64_t state = 0;        // parameters, gradients, optimizer: does not shrink with the microbatch
  std::int64_t bytes = 0;        // all, with the context; 0 for a plugin's model
  std::int64_t bytes_there = 0;  // 0: this host has no such GPU
};
// Of each GPU that one process of a job with `device: cuda` takes. Errors of device_places().
std::vector<GpuNeed> gpu_needs(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);

// Devices of this host that ranks can take: of `cuda` the driver's, of `delayed` for so many ranks, of `cpu` none.
int devices_here(const JobConfig& job, int ranks, const std::optional<CudaDriver>& driver);

// "" but for `device: cuda`. `places`: of this command's processes.
std::string device_text(const JobConfig& job, const std::vector<ProcessPlace>& places,
                        const DeviceSummary& summary);
// "ranks 2, 3 on GPU 1": what a process has.
std::string process_text(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);
config::Json to_json(const DeviceSummary& summary);

// Input error with the remedy: ranks of other processes, too few devices, devices that ranks cannot share; of
// `device: cuda` also no driver, an old one, parameters and optimizer that are larger than a GPU.
void require_places(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);
// In the process itself: also no plugin, no NCCL. Loads the plugin.
void require_device(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary);

}  // namespace d9d
