#include "actors/cli/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/comm/device_plugin.hpp"

namespace d9d {
namespace {

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

// What does not shrink with the microbatch.
std::int64_t state_bytes_of(const RankMemory& rank) {
  return rank.parameters + rank.gradients + rank.optimizer;
}

const RankMemory& largest(const std::vector<RankMemory>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end(), [](const RankMemory& a, const RankMemory& b) {
    return state_bytes_of(a) < state_bytes_of(b);
  });
}

// Activations shrink with the microbatch, what they were estimated from may be wrong, and the rest is exact.
void require_memory(const DeviceSummary& summary, int ranks_here) {
  if (summary.ranks.empty()) return;
  const auto& gpus = summary.driver->gpus;
  const auto smallest = std::min_element(gpus.begin(), gpus.begin() + ranks_here,
                                         [](const Gpu& a, const Gpu& b) { return a.bytes < b.bytes; });
  const RankMemory& rank = largest(summary.ranks);
  D9D_REQUIRE(state_bytes_of(rank) < smallest->bytes,
              "node.device: cuda, and parameters, gradients and optimizer of a rank of pp {} are {}, while "
              "{} has {}: "
              "shard them over more ranks (mesh.data_parallel_shard), or choose an optimizer with less state",
              rank.pipeline_rank, gib(state_bytes_of(rank)), smallest->name, gib(smallest->bytes));
}

std::string host_text(const std::optional<CudaDriver>& driver) {
  if (!driver) return "no NVIDIA driver on this host";
  std::string text = fmt::format("driver for CUDA {}", cuda_version_text(driver->cuda_version));
  for (std::size_t i = 0; i < driver->gpus.size(); ++i)
    text += fmt::format("; GPU {}: {}, {}", i, driver->gpus[i].name, gib(driver->gpus[i].bytes));
  return text;
}

}  // namespace

std::int64_t device_bytes(const RankMemory& rank) {
  return state_bytes_of(rank) + rank.activations;
}

std::string device_text(const JobConfig& job, const DeviceSummary& summary) {
  if (job.node.device != DeviceKind::cuda) return "";
  std::string text = fmt::format("{:<10}cuda: {}\n", "device", host_text(summary.driver));
  for (const RankMemory& rank : summary.ranks) {
    text += fmt::format(
        "{:<10}a rank of pp {} needs {} on its GPU: parameters {}, gradients {}, moments and master weights "
        "{}, "
        "activations {}; and CUDA's context\n",
        "", rank.pipeline_rank, gib(device_bytes(rank)), gib(rank.parameters), gib(rank.gradients),
        gib(rank.optimizer), gib(rank.activations));
  }
  return text;
}

config::Json to_json(const DeviceSummary& summary) {
  config::Json gpus = config::Json::array(), needed = config::Json::array();
  if (summary.driver) {
    for (const Gpu& gpu : summary.driver->gpus) gpus.push_back({{"name", gpu.name}, {"bytes", gpu.bytes}});
  }
  for (const RankMemory& rank : summary.ranks) needed.push_back(device_bytes(rank));
  config::Json out = {{"kind", "cuda"}, {"driver_cuda", nullptr}, {"gpus", gpus}, {"bytes_needed", needed}};
  if (summary.driver) out["driver_cuda"] = cuda_version_text(summary.driver->cuda_version);
  return out;
}

void require_device(const JobConfig& job, int ranks_here, const DeviceSummary& summary) {
  if (job.node.device != DeviceKind::cuda) return;
  require_gpus(summary.driver, ranks_here);
  require_memory(summary, ranks_here);
  const DevicePlugin plugin;
  D9D_REQUIRE(
      plugin.num_devices() >= ranks_here,
      "node.device: cuda, and CUDA's run time finds {} of the {} GPUs that the driver has: is the driver's "
      "module loaded in full (`nvidia-smi`)? Or set node.device: cpu",
      plugin.num_devices(), summary.driver->gpus.size());
  D9D_REQUIRE(
      job.mesh.world_size() == 1,
      "node.device: cuda, and mesh has {} ranks: only one is supported yet, others would share its GPU; set "
      "node.device: cpu",
      job.mesh.world_size());
}

}  // namespace d9d
