#include "runtime/device/memory_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/base/host_limits.hpp"
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

struct Use {
  c10::Device place;
  DeviceUse use;
};

struct Uses {
  std::mutex mutex;
  std::map<std::string, Use> by_place;
};

Uses& uses() {
  static const auto of_process = std::make_unique<Uses>();
  return *of_process;
}

// The kind of a plugin's devices has the name under which the plugin has made it known to torch.
std::string text_of(c10::Device place) {
  return fmt::format("{}:{}", c10::DeviceTypeName(place.type(), true), static_cast<int>(place.index()));
}

DeviceUse use_of(c10::Device place) {
  Uses& all = uses();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_place.find(text_of(place));
  return found == all.by_place.end() ? DeviceUse{} : found->second.use;
}

std::string mib(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

MemoryPool largest_of(const PoolBytes& bytes) {
  const auto largest = std::max_element(bytes.begin(), bytes.end());
  constexpr std::array pools{MemoryPool::activations, MemoryPool::state, MemoryPool::communication};
  return pools.at(static_cast<std::size_t>(largest - bytes.begin()));
}

const char* remedy_for(MemoryPool pool) {
  switch (pool) {
    case MemoryPool::state:
      return "Shard parameters over more ranks (mesh.data_parallel_shard, tensor_parallel, "
             "pipeline_parallel), or choose an optimizer with less state";
    case MemoryPool::communication:
      return "Let less be gathered at a time (parallelism.fully_shard.reshard_after_forward: always, reduce: "
             "microbatch), or take more ranks";
    case MemoryPool::activations:
      break;
  }
  return "Lower batching.microbatch_size (--batch of generate) or the samples' length, where something "
         "trains set model_provider.enable_checkpointing or offload_layers, or take more ranks";
}

}  // namespace

void set_device_use(c10::Device place, DeviceUse use) {
  Uses& all = uses();
  const std::lock_guard lock(all.mutex);
  all.by_place.insert_or_assign(text_of(place), Use{place, std::move(use)});
}

std::vector<std::string> peak_lines() {
  std::map<std::string, Use> known;
  {
    Uses& all = uses();
    const std::lock_guard lock(all.mutex);
    known = all.by_place;
  }
  std::vector<std::string> lines;
  for (const auto& [name, used] : known) {
    try {
      const DeviceMemory memory = device_of(used.place).memory();
      const std::uint64_t peak = total_of(memory.at_peak);
      lines.push_back(fmt::format("{} took {} of its memory at most: {}", owner_text(used.place), mib(peak),
                                  pools_text(used.place, memory.at_peak)));
      if (memory.of_streams > peak)
        lines.back() +=
            fmt::format("; {} more because each stream keeps what it frees", mib(memory.of_streams - peak));
    } catch (const std::exception& error) {  // a GPU that has failed throws at every call
      lines.push_back(
          fmt::format("the peak memory of {} is unknown: {}", owner_text(used.place), error.what()));
    }
  }
  return lines;
}

std::string owner_text(c10::Device place) {
  const DeviceUse use = use_of(place);
  if (use.ranks.empty()) return text_of(place);
  return fmt::format("{} ({} {})", text_of(place), use.ranks.size() == 1 ? "rank" : "ranks",
                     fmt::join(use.ranks, ", "));
}

std::string pools_text(c10::Device place, const PoolBytes& bytes) {
  std::string text;
  for (const MemoryPool pool : {MemoryPool::state, MemoryPool::activations, MemoryPool::communication}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(pool),
                        mib(bytes[static_cast<std::size_t>(pool)]));
  }
  const ExpectedMemory expected = use_of(place).expected;
  if (expected.state + expected.activations == 0) return text;
  return text + fmt::format(" (d9d-node check estimates {} of state and what is gathered, {} of activations)",
                            mib(expected.state), mib(expected.activations));
}

std::string out_of_device_memory(c10::Device place, std::uint64_t wanted, const DeviceMemory& memory) {
  const std::string free =
      memory.limit > 0 ? fmt::format("{} of {}", mib(memory.free), mib(memory.limit)) : mib(memory.free);
  return fmt::format("{} is out of memory: {} are wanted and {} {}; in use are {}. {}", owner_text(place),
                     mib(wanted), free, device_memory_words, pools_text(place, memory.in_use),
                     remedy_for(largest_of(memory.in_use)));
}

}  // namespace d9d
