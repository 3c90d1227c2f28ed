#include "actors/cli/device.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "actors/job/node_devices.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {
namespace {

// CUDA's context with the kernels of torch and its products' workspace; what it really takes no run has measured.
constexpr std::int64_t context_bytes = std::int64_t{768} << 20;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::int64_t state_bytes_of(const RankMemory& rank) {
  return rank.parameters + rank.gradients + rank.optimizer;
}

const RankMemory& smallest_of(const std::vector<RankMemory>& ranks) {
  return *std::min_element(ranks.begin(), ranks.end(), [](const RankMemory& a, const RankMemory& b) {
    return state_bytes_of(a) < state_bytes_of(b);
  });
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

// Activations shrink with the microbatch, what they were estimated from may be wrong, and the rest is exact.
void require_memory(const std::vector<GpuNeed>& needs, const CudaDriver& driver) {
  for (const GpuNeed& need : needs) {
    const std::string& name = driver.gpus.at(static_cast<std::size_t>(need.gpu)).name;
    const bool shared = need.ranks.size() > 1;
    D9D_REQUIRE(
        need.state < need.bytes_there,
        "node.device: cuda, and parameters, gradients and optimizer of {} on GPU {} are {}, while {} has "
        "{}: {}, or choose an optimizer with less state",
        ranks_text(need.ranks), need.gpu, gib(need.state), name, gib(need.bytes_there),
        shared ? "let fewer ranks share it (node.devices, mesh)"
               : "shard them over more GPUs (mesh.data_parallel_shard)");
  }
}

std::string host_text(const std::optional<CudaDriver>& driver) {
  if (!driver) return "no NVIDIA driver on this host";
  std::string text = fmt::format("driver for CUDA {}", cuda_version_text(driver->cuda_version));
  for (std::size_t i = 0; i < driver->gpus.size(); ++i)
    text += fmt::format("; GPU {}: {}, {}", i, driver->gpus[i].name, gib(driver->gpus[i].bytes));
  return text;
}

// Without GPUs, and where they are refused, there is nothing to show.
std::string places_text(const JobConfig& job, int ranks_here, const DeviceSummary& summary) {
  if (!summary.driver || summary.driver->gpus.empty()) return "";
  std::string text;
  try {
    for (const GpuNeed& need : gpu_needs(job, ranks_here, summary)) {
      text += fmt::format("{:<10}GPU {}: {}", "", need.gpu, ranks_text(need.ranks));
      if (need.bytes > 0)
        text += fmt::format(", {} of {} with CUDA's context", gib(need.bytes), gib(need.bytes_there));
      text += "\n";
    }
    const auto places = places_on_node(job, ranks_here, static_cast<int>(summary.driver->gpus.size()));
    if (ranks_here > 1)
      text += fmt::format("{:<10}collectives: {}\n", "",
                          places.collectives == CollectivesKind::nccl ? "nccl" : "local");
  } catch (const Error&) {  // of require_device(), which comes later
    return "";
  }
  return text;
}

}  // namespace

std::int64_t device_bytes(const RankMemory& rank) {
  return state_bytes_of(rank) + rank.activations + rank.logits;
}

ExpectedMemory expected_of(const RankMemory& rank) {
  return {.state = static_cast<std::uint64_t>(state_bytes_of(rank)),
          .activations = static_cast<std::uint64_t>(rank.activations + rank.logits)};
}

std::vector<GpuNeed> gpu_needs(const JobConfig& job, int ranks_here, const DeviceSummary& summary) {
  const std::vector<Gpu> none;
  const std::vector<Gpu>& gpus = summary.driver ? summary.driver->gpus : none;
  const DevicePlaces places = device_places(job, ranks_here, static_cast<int>(gpus.size()));
  std::vector<GpuNeed> needs;
  for (int gpu = 0; gpu < places.devices; ++gpu) needs.push_back({.gpu = gpu});
  const Plan plan(job.mesh, {job.mesh.world_size()});
  const bool alone = ranks_here == job.mesh.world_size();  // else nobody knows yet which ranks are here
  for (int rank = 0; rank < ranks_here; ++rank) {
    GpuNeed& need = needs[static_cast<std::size_t>(places.of(rank))];
    need.ranks.push_back(rank);
    need.bytes_there = gpus[static_cast<std::size_t>(need.gpu)].bytes;
    if (summary.ranks.empty()) continue;
    const RankMemory& memory = alone
                                   ? summary.ranks.at(static_cast<std::size_t>(plan.placement(rank).pipeline))
                                   : smallest_of(summary.ranks);
    need.state += state_bytes_of(memory);
    need.bytes = std::max(need.bytes, context_bytes) + device_bytes(memory);
  }
  return needs;
}

std::string device_text(const JobConfig& job, int ranks_here, const DeviceSummary& summary) {
  if (job.node.device != DeviceKind::cuda) return "";
  std::string text = fmt::format("{:<10}cuda: {}\n", "device", host_text(summary.driver));
  for (const RankMemory& rank : summary.ranks) {
    text += fmt::format(
        "{:<10}a rank of pp {} needs {} on its GPU: parameters {}, gradients {}, moments and master weights "
        "{}, "
        "activations {}, logits {}\n",
        "", rank.pipeline_rank, gib(device_bytes(rank)), gib(rank.parameters), gib(rank.gradients),
        gib(rank.optimizer), gib(rank.activations), gib(rank.logits));
  }
  return text + places_text(job, ranks_here, summary);
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
  if (job.node.device == DeviceKind::cpu) return;
  const bool is_cuda = job.node.device == DeviceKind::cuda;
  const auto wanted = static_cast<int>(job.node.devices.value_or(1));
  if (is_cuda) require_gpus(summary.driver, wanted);
  const auto here = is_cuda ? static_cast<int>(summary.driver->gpus.size()) : delayed_devices(ranks_here);
  const DevicePlaces places = places_on_node(job, ranks_here, here);
  if (!is_cuda) return;
  require_memory(gpu_needs(job, ranks_here, summary), *summary.driver);
  const DevicePlugin plugin;
  D9D_REQUIRE(
      plugin.num_devices() >= places.devices,
      "node.device: cuda, and CUDA's run time finds {} of the {} GPUs that the driver has: is the driver's "
      "module loaded in full (`nvidia-smi`)? Or set node.device: cpu",
      plugin.num_devices(), summary.driver->gpus.size());
  if (places.collectives == CollectivesKind::nccl) static_cast<void>(plugin.nccl());
}

}  // namespace d9d
