#include "runtime/devices/cuda/kernel_log.hpp"

#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/devices/cuda/kernel_name.hpp"

namespace d9d::cuda {
namespace {

// Small, so that a kernel that still runs holds few records back with it.
constexpr std::size_t buffer_bytes = 128 << 10, buffer_alignment = 64;
constexpr std::size_t kept_max = 1 << 18;  // of a GPU that nobody asks about
constexpr std::array activities{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

struct Seen {
  std::string name;
  std::uint32_t stream;
  std::int64_t begin_ns, end_ns;
};

// Of the process; CUPTI's thread writes. Never destroyed, because it may do so after all else.
struct KernelLog {
  std::mutex mutex;                                 // of what follows
  std::map<std::uint32_t, std::vector<Seen>> seen;  // by GPU
  std::map<const char*, std::string> names;         // CUPTI's texts stay
  std::uint64_t lost = 0;
  std::mutex switching;  // of what follows
  std::set<int> logged;
  bool registered = false;
};

KernelLog& kernel_log() {
  static const auto of_process = new KernelLog;
  return *of_process;
}

std::string text_of(CUptiResult result) {
  const char* text = nullptr;
  return cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr ? text
                                                                                 : std::to_string(result);
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    default:
      return "copy on the device";
  }
}

template <class Record>
void keep(KernelLog& log, const Record& record, const std::string& name) {
  std::vector<Seen>& seen = log.seen[record.deviceId];
  if (record.end == 0) return;
  if (seen.size() >= kept_max) {
    ++log.lost;
    return;
  }
  seen.push_back({name, record.streamId, static_cast<std::int64_t>(record.start),
                  static_cast<std::int64_t>(record.end)});
}

void keep(KernelLog& log, const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      auto [name, is_new] = log.names.try_emplace(kernel.name);
      if (is_new) name->second = kernel_name(kernel.name);
      return keep(log, kernel, name->second);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      return keep(log, copy, copy_name(copy.copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return keep(log, reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record), "copy between devices");
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return keep(log, reinterpret_cast<const CUpti_ActivityMemset4&>(record), "memset");
    default:
      return;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records_max) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records_max = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*size*/,
                          std::size_t valid) {
  KernelLog& log = kernel_log();
  const std::lock_guard lock(log.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) keep(log, *record);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) log.lost += dropped;
  std::free(buffer);
}

std::uint64_t CUPTIAPI host_ns() {
  return static_cast<std::uint64_t>(SystemClock().now_ns());
}

// Times on the host's clock have to be asked for before any record.
CUptiResult switch_on(KernelLog& log) {
  CUptiResult result = CUPTI_SUCCESS;
  if (!log.registered) {
    result = cuptiActivityRegisterTimestampCallback(host_ns);
    if (result == CUPTI_SUCCESS) result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result != CUPTI_SUCCESS) return result;
    log.registered = true;
  }
  for (const CUpti_ActivityKind kind : activities) {
    result = cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS) return result;
  }
  return result;
}

void switch_off() {
  for (const CUpti_ActivityKind kind : activities) cuptiActivityDisable(kind);
}

}  // namespace

std::string log_kernels(int gpu, bool on) {
  KernelLog& log = kernel_log();
  const std::lock_guard lock(log.switching);
  if (!on) {
    if (log.logged.erase(gpu) > 0 && log.logged.empty()) switch_off();
    return "";
  }
  if (log.logged.empty()) {
    const CUptiResult result = switch_on(log);
    if (result != CUPTI_SUCCESS) {
      switch_off();
      return "CUPTI says \"" + text_of(result) + "\"; does another profiler watch this process?";
    }
  }
  log.logged.insert(gpu);
  return "";
}

std::vector<KernelRun> take_kernels(int gpu, const RoleStreams& streams) {
  constexpr std::uint32_t unknown = ~0U;
  std::array<std::uint32_t, std::tuple_size_v<RoleStreams>> ids{};
  for (std::size_t role = 0; role < ids.size(); ++role)
    if (cuptiGetStreamIdEx(nullptr, streams[role], 0, &ids[role]) != CUPTI_SUCCESS) ids[role] = unknown;
  const CUptiResult flushed = cuptiActivityFlushAll(0);
  if (flushed != CUPTI_SUCCESS)
    log::warn("GPU {}: kernels are missing in the trace: CUPTI says \"{}\"", gpu, text_of(flushed));
  KernelLog& log = kernel_log();
  std::vector<Seen> seen;
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(log.mutex);
    seen = std::exchange(log.seen[static_cast<std::uint32_t>(gpu)], {});
    lost = std::exchange(log.lost, 0);
  }
  if (lost > 0)
    log::warn("GPU {}: {} kernels are missing in the trace, there were too many in a step", gpu, lost);
  std::vector<KernelRun> kernels;
  for (Seen& each : seen) {
    const auto at = static_cast<std::size_t>(std::find(ids.begin(), ids.end(), each.stream) - ids.begin());
    const StreamRole other = each.name.starts_with("nccl") ? StreamRole::communicate : StreamRole::compute;
    kernels.push_back({std::move(each.name), at < stream_roles.size() ? stream_roles[at] : other,
                       each.begin_ns, each.end_ns});
  }
  return kernels;
}

}  // namespace d9d::cuda
