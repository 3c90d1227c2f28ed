#pragma once
// `node.device: cuda` of a job: what this host has, and what a rank would need of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/cli/memory.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/base/cuda_driver.hpp"
#include "runtime/task/job_config.hpp"

namespace d9d {

// Of a rank on its GPU, estimated: parameters, gradients, optimizer (moments and master weights), activations. Copies
// for checkpoints are on the host. CUDA's context and NCCL's buffers come on top.
std::int64_t device_bytes(const RankMemory& rank);

struct DeviceSummary {
  std::optional<CudaDriver> driver;
  std::vector<RankMemory> ranks;  // by pipeline rank; empty for a plugin's model
};
// "" but for `device: cuda`.
std::string device_text(const JobConfig& job, const DeviceSummary& summary);
config::Json to_json(const DeviceSummary& summary);

// Of `device: cuda` alone. Input error with the remedy: no driver, an old one, too few GPUs for `ranks_here`, no
// plugin, parameters and optimizer that are larger than a GPU. Loads the plugin.
void require_device(const JobConfig& job, int ranks_here, const DeviceSummary& summary);

}  // namespace d9d
