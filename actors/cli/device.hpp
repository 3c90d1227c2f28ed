#pragma once
// `node.device` of a job: what this host has, which rank takes which GPU, and what it would need there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/cli/memory.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/base/cuda_driver.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/task/job_config.hpp"

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
  std::vector<int> ranks;        // of this host, by index
  std::int64_t state = 0;        // parameters, gradients, optimizer: does not shrink with the microbatch
  std::int64_t bytes = 0;        // all, with the context; 0 for a plugin's model
  std::int64_t bytes_there = 0;  // 0: this host has no such GPU
};
// Of each GPU that a job with `device: cuda` takes here. Errors of device_places().
std::vector<GpuNeed> gpu_needs(const JobConfig& job, int ranks_here, const DeviceSummary& summary);

// "" but for `device: cuda`.
std::string device_text(const JobConfig& job, int ranks_here, const DeviceSummary& summary);
config::Json to_json(const DeviceSummary& summary);

// Input error with the remedy: ranks of other processes, too few devices, devices that ranks cannot share; of
// `device: cuda` also no driver, an old one, no plugin, no NCCL, parameters and optimizer that are larger than a GPU.
// Loads the plugin.
void require_device(const JobConfig& job, int ranks_here, const DeviceSummary& summary);

}  // namespace d9d
