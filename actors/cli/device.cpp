#include "actors/cli/device.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "actors/job/process/node_devices.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {
namespace {

// CUDA's context with torch's kernels and the workspace of its products. A guess: no run has measured it.
constexpr std::int64_t context_bytes = std::int64_t{768} << 20;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string ranks_text(const GpuNeed& need) {
  if (need.ranks.empty()) return counted(need.num_ranks, "rank");
  return fmt::format("{} {}", need.num_ranks == 1 ? "rank" : "ranks", fmt::join(need.ranks, ", "));
}

// If it is not known which ranks a process has, each counts as the rank that needs most.
const RankMemory& memory_of(const DeviceSummary& summary, const Plan& plan, std::optional<int> rank) {
  if (rank) return summary.ranks.at(static_cast<std::size_t>(plan.placement(*rank).pipeline));
  const auto need = [](const RankMemory& memory) { return std::pair(memory.on_device(), memory.state()); };
  return *std::max_element(summary.ranks.begin(), summary.ranks.end(),
                           [&](const RankMemory& a, const RankMemory& b) { return need(a) < need(b); });
}

// Only exact parts are refused. Activations are an estimate, and shrink with the microbatch.
void require_memory(const std::vector<GpuNeed>& needs, const CudaDriver& driver) {
  for (const GpuNeed& need : needs) {
    const std::string& name = driver.gpus.at(static_cast<std::size_t>(need.gpu)).name;
    const bool shared = need.num_ranks > 1;
    D9D_REQUIRE(
        need.state < need.bytes_there,
        "node.device: cuda, and parameters, gradients and optimizer of {} on GPU {} are {}, while {} has "
        "{}: {}, or choose an optimizer with less state",
        ranks_text(need), need.gpu, gib(need.state), name, gib(need.bytes_there),
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

// Empty without GPUs, and when the places are refused.
std::string places_text(const JobConfig& job, const std::vector<ProcessPlace>& processes,
                        const DeviceSummary& summary) {
  if (!summary.driver || summary.driver->gpus.empty()) return "";
  std::string text;
  try {
    for (const ProcessPlace& place : processes) {
      for (const GpuNeed& need : gpu_needs(job, place, summary)) {
        text += fmt::format("{:<10}GPU {}: {}", "", need.gpu, ranks_text(need));
        if (need.bytes > 0)
          text += fmt::format(", {} of {} with CUDA's context", gib(need.bytes), gib(need.bytes_there));
        text += "\n";
      }
    }
    const ProcessPlace& first = processes.front();
    const auto places =
        places_on_node(job, first.ranks, static_cast<int>(summary.driver->gpus.size()), first.share);
    if (job.mesh.world_size() > 1)
      text += fmt::format("{:<10}collectives: {}\n", "",
                          places.collectives == CollectivesKind::nccl ? "nccl" : "local");
  } catch (const Error&) {  // require_device() throws it later, with its text
    return "";
  }
  return text;
}

}  // namespace

std::vector<GpuNeed> gpu_needs(const JobConfig& job, const ProcessPlace& place,
                               const DeviceSummary& summary) {
  const std::vector<Gpu> none;
  const std::vector<Gpu>& gpus = summary.driver ? summary.driver->gpus : none;
  const DevicePlaces places = device_places(job, place.ranks, static_cast<int>(gpus.size()), place.share);
  std::vector<GpuNeed> needs;
  for (int i = 0; i < places.devices; ++i) needs.push_back({.gpu = places.first + i});
  const Plan plan(job.mesh, {job.mesh.world_size()});
  for (int i = 0; i < place.ranks; ++i) {
    GpuNeed& need = needs[static_cast<std::size_t>(places.of(i) - places.first)];
    const auto rank = place.first_rank ? std::optional(*place.first_rank + i) : std::nullopt;
    ++need.num_ranks;
    if (rank) need.ranks.push_back(*rank);
    need.bytes_there = gpus[static_cast<std::size_t>(need.gpu)].bytes;
    if (summary.ranks.empty()) continue;
    const RankMemory& memory = memory_of(summary, plan, rank);
    need.state += memory.state();
    need.bytes = std::max(need.bytes, context_bytes) + memory.on_device();
  }
  return needs;
}

int devices_here(const JobConfig& job, int ranks, const std::optional<CudaDriver>& driver) {
  if (job.node.device == DeviceKind::delayed) return delayed_devices(ranks);
  return job.node.device == DeviceKind::cuda && driver ? static_cast<int>(driver->gpus.size()) : 0;
}

std::string device_text(const JobConfig& job, const std::vector<ProcessPlace>& places,
                        const DeviceSummary& summary) {
  if (job.node.device != DeviceKind::cuda) return "";
  std::string text = fmt::format("{:<10}cuda: {}\n", "device", host_text(summary.driver));
  for (const RankMemory& rank : summary.ranks) {
    text += fmt::format(
        "{:<10}a rank of pp {} needs {} on its GPU: parameters {}, gradients {}, moments and master weights "
        "{}, activations {}, loss {}, cuBLAS {}{}{}\n",
        "", rank.pipeline_rank, gib(rank.on_device()), gib(rank.parameters), gib(rank.gradients),
        gib(rank.optimizer), gib(rank.activations), gib(rank.loss), gib(rank.libraries),
        rank.texts > 0 ? fmt::format(", or while texts are written {}", gib(rank.texts)) : "",
        rank.second_stream > 0 ? fmt::format(", second stream {}", gib(rank.second_stream)) : "");
  }
  return text + places_text(job, places, summary);
}

std::string process_text(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary) {
  if (job.node.device == DeviceKind::cpu) return place.text();
  const int here = devices_here(job, place.ranks, summary.driver);
  const DevicePlaces places = device_places(job, place.ranks, here, place.share);
  std::vector<int> devices(static_cast<std::size_t>(places.devices));
  std::iota(devices.begin(), devices.end(), places.first);
  const char* const kind = job.node.device == DeviceKind::cuda ? "GPU" : "delayed device";
  return fmt::format("{} on {}{} {}", place.text(), kind, devices.size() == 1 ? "" : "s",
                     fmt::join(devices, ", "));
}

config::Json to_json(const DeviceSummary& summary) {
  config::Json gpus = config::Json::array(), needed = config::Json::array();
  if (summary.driver) {
    for (const Gpu& gpu : summary.driver->gpus) gpus.push_back({{"name", gpu.name}, {"bytes", gpu.bytes}});
  }
  for (const RankMemory& rank : summary.ranks) needed.push_back(rank.on_device());
  config::Json out = {{"kind", "cuda"}, {"driver_cuda", nullptr}, {"gpus", gpus}, {"bytes_needed", needed}};
  if (summary.driver) out["driver_cuda"] = cuda_version_text(summary.driver->cuda_version);
  return out;
}

void require_places(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary) {
  if (job.node.device == DeviceKind::cpu) return;
  const bool is_cuda = job.node.device == DeviceKind::cuda;
  if (is_cuda) require_gpus(summary.driver, static_cast<int>(job.node.devices.value_or(1)));
  places_on_node(job, place.ranks, devices_here(job, place.ranks, summary.driver), place.share);
  if (is_cuda) require_memory(gpu_needs(job, place, summary), *summary.driver);
}

void require_device(const JobConfig& job, const ProcessPlace& place, const DeviceSummary& summary) {
  require_places(job, place, summary);
  if (job.node.device == DeviceKind::cpu) return;
  const DevicePlugin plugin = load_devices(job.node.device);
  if (job.node.device != DeviceKind::cuda) return;
  const int here = devices_here(job, place.ranks, summary.driver);
  const DevicePlaces places = places_on_node(job, place.ranks, here, place.share);
  D9D_REQUIRE(
      plugin.num_devices() >= places.first + places.devices,
      "node.device: cuda, and CUDA's run time finds {} of the {} GPUs that the driver has: is the driver's "
      "module loaded in full (`nvidia-smi`)? Or set node.device: cpu",
      plugin.num_devices(), here);
  if (places.collectives == CollectivesKind::nccl) static_cast<void>(plugin.nccl());
}

}  // namespace d9d
