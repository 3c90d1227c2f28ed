#include "runtime/devices/cuda/cuda_device.hpp"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/PeerToPeerAccess.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/device/memory_ledger.hpp"
#include "runtime/device/memory_report.hpp"
#include "runtime/devices/cuda/gpu_clock.hpp"
#include "runtime/devices/cuda/kernel_log.hpp"

namespace d9d::cuda {
namespace {

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw Error(ErrorKind::environment, std::string(what) + ": CUDA says \"" + cudaGetErrorString(code) + "\"");
}

// The GPU of this thread meanwhile. Without errors, for destructors: CUDA may have ended before them. Through torch,
// which gives no GPU a context that had none.
class OnGpu {
 public:
  explicit OnGpu(c10::DeviceIndex index) {
    static_cast<void>(c10::cuda::GetDevice(&before_));
    static_cast<void>(c10::cuda::MaybeSetDevice(index));
  }
  ~OnGpu() { static_cast<void>(c10::cuda::MaybeSetDevice(before_)); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  c10::DeviceIndex before_ = 0;
};

namespace allocator = c10::cuda::CUDACachingAllocator;

// By index, for the life of the process: memory may be freed after all else.
MemoryLedger& ledger_of(c10::DeviceIndex index) {
  static const auto ledgers = new std::array<MemoryLedger, C10_COMPILE_TIME_MAX_GPUS>();
  return ledgers->at(static_cast<std::size_t>(index));
}

// Notes what torch's allocator takes from each pool, and says it where there is no more.
void watch_allocator() {
  static constinit std::once_flag watched;
  std::call_once(watched, [] {
    at::globalContext().lazyInitDevice(c10::kCUDA);  // before, the allocator has no devices to watch
    require_told_memory(allocator::name());
    allocator::attachAllocatorTraceTracker([](const allocator::TraceEntry& entry) {
      if (entry.action_ == allocator::TraceEntry::ALLOC)
        ledger_of(entry.device_).taken(entry.addr_, entry.size_);
      if (entry.action_ == allocator::TraceEntry::FREE_REQUESTED)
        ledger_of(entry.device_).given_back(entry.addr_);
    });
    allocator::attachOutOfMemoryObserver(
        [](std::int64_t device, std::size_t wanted, std::size_t total, std::size_t free) {
          const auto index = static_cast<c10::DeviceIndex>(device);
          const PoolCounts counts = ledger_of(index).counts();
          TORCH_CHECK_WITH(OutOfMemoryError, false,
                           out_of_device_memory({c10::kCUDA, index}, wanted,
                                                {counts.in_use(), counts.at_peak(), free, total}));
        });
  });
}

// Events of one GPU, used again when nobody asks for them any more. Any thread.
class EventPool {
 public:
  explicit EventPool(int index, std::shared_ptr<GpuClock> clock = nullptr)
      : index_(index), clock_(std::move(clock)) {}
  ~EventPool() {
    const OnGpu here(static_cast<c10::DeviceIndex>(index_));
    for (cudaEvent_t event : free_) cudaEventDestroy(event);
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  cudaEvent_t take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        cudaEvent_t event = free_.back();
        free_.pop_back();
        return event;
      }
    }
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(index_));
    cudaEvent_t event = nullptr;
    const unsigned times = clock_ ? 0U : unsigned{cudaEventDisableTiming};
    check(cudaEventCreateWithFlags(&event, times | cudaEventBlockingSync), "an event");
    return event;
  }
  int index() const { return index_; }
  // Null: its events tell no times, which is cheaper.
  GpuClock* clock() const { return clock_.get(); }
  void give_back(cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    free_.push_back(event);
  }

 private:
  const int index_;
  const std::shared_ptr<GpuClock> clock_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
};

class RecordedEvent final : public Event::State {
 public:
  RecordedEvent(std::shared_ptr<EventPool> pool, cudaStream_t stream)
      : pool_(std::move(pool)), event_(pool_->take()) {
    const c10::cuda::CUDAGuard guard = on_its_gpu();
    const cudaError_t code = cudaEventRecord(event_, stream);
    if (code != cudaSuccess) pool_->give_back(event_);
    check(code, "an event of a stream");
  }
  ~RecordedEvent() override { pool_->give_back(event_); }
  RecordedEvent(const RecordedEvent&) = delete;
  RecordedEvent& operator=(const RecordedEvent&) = delete;

  // Threads that write checkpoints or send tensors ask, too: without the guard they would ask on the first GPU.
  bool reached() const override {
    const c10::cuda::CUDAGuard guard = on_its_gpu();
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) return false;
    check(code, "the work before an event");
    return true;
  }
  void wait() const override {
    const c10::cuda::CUDAGuard guard = on_its_gpu();
    check(cudaEventSynchronize(event_), "the work before an event");
  }
  std::int64_t reached_ns() const override {
    return pool_->clock() != nullptr && reached() ? pool_->clock()->ns_of(event_) : 0;
  }
  cudaEvent_t event() const { return event_; }

 private:
  c10::cuda::CUDAGuard on_its_gpu() const {
    return c10::cuda::CUDAGuard(static_cast<c10::DeviceIndex>(pool_->index()));
  }

  const std::shared_ptr<EventPool> pool_;
  const cudaEvent_t event_;
};

// Of the process, for streams that are no rank's, too (NCCL's).
std::shared_ptr<EventPool> timed_events(int index) {
  static constinit std::mutex mutex;
  static constinit std::map<int, std::shared_ptr<EventPool>>* pools =
      nullptr;  // events may be given back after all else
  const std::lock_guard lock(mutex);
  if (pools == nullptr) pools = new std::map<int, std::shared_ptr<EventPool>>;
  std::shared_ptr<EventPool>& pool = (*pools)[index];
  if (!pool) pool = std::make_shared<EventPool>(index, std::make_shared<GpuClock>(index));
  return pool;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : index_(static_cast<c10::DeviceIndex>(index)),
        events_(std::make_shared<EventPool>(index)),
        streams_{c10::cuda::getDefaultCUDAStream(index_), c10::cuda::getStreamFromPool(true, index_),
                 c10::cuda::getStreamFromPool(false, index_), c10::cuda::getStreamFromPool(false, index_),
                 c10::cuda::getStreamFromPool(false, index_)},
        lifetimes_(c10::cuda::getStreamFromPool(false, index_)) {}

  c10::Device place() const override { return {c10::kCUDA, index_}; }
  Event record(StreamRole role) override {
    return Event(std::make_shared<RecordedEvent>(events_, stream(role).stream()));
  }
  Event record_time(StreamRole role) override { return timed_event(index_, stream(role).stream()); }
  void wait(StreamRole role, const Event& event) override {
    if (event.state()) wait_on(stream(role), event);
  }
  void use(const at::Tensor& tensor, StreamRole role) override {
    if (tensor.device() == place())
      c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), stream(role));
  }
  StreamRole exchange_stream(StreamRole role) override {
    const StreamRole before = current_stream();
    c10::cuda::setCurrentCUDAStream(stream(role));
    return before;
  }
  // The allocator takes streams only: one that waits for the event stands for it. It has no other work, so
  // nothing waits for the event that does not need it.
  void use_until(const at::Tensor& tensor, const Event& event) override {
    if (tensor.device() != place() || !event.state()) return;
    wait_on(lifetimes_, event);
    c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), lifetimes_);
  }
  // Between GPUs not by copy_, which runs on the stream of the GPU it reads and makes that one wait for ours.
  void copy(const at::Tensor& into, const at::Tensor& from) override {
    if (from.numel() == 0) return;
    if (!from.is_cuda() || from.device() == place() || !into.is_contiguous() || !from.is_contiguous()) {
      into.copy_(from, /*non_blocking=*/true);
      return;
    }
    at::cuda::get_p2p_access(index_,
                             from.device().index());  // opens the way between them, once; else by the host
    const c10::cuda::CUDAGuard guard(index_);
    check(cudaMemcpyPeerAsync(into.mutable_data_ptr(), index_, from.const_data_ptr(), from.device().index(),
                              from.nbytes(), stream(current_stream()).stream()),
          "a copy between GPUs");
  }
  // Not torch's own pinned memory: that is of powers of two bytes, and kept for good.
  at::Tensor pinned(std::int64_t bytes) override {
    const c10::cuda::CUDAGuard guard(index_);
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocPortable) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // or the next call tells it
      return {};
    }
    const auto free = [index = index_](void* address) {
      const OnGpu here(index);
      static_cast<void>(cudaFreeHost(address));
    };
    return at::from_blob(memory, {bytes}, free, at::TensorOptions(at::kByte));
  }
  void finish() override {
    const c10::cuda::CUDAGuard guard(index_);
    check(cudaDeviceSynchronize(), "the work of a GPU");
  }
  void trim() override { c10::cuda::CUDACachingAllocator::emptyCache(); }
  // What the allocator keeps of freed memory can be had, too.
  DeviceMemory memory() const override {
    const c10::cuda::CUDAGuard guard(index_);
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = total = 0;  // a GPU that failed
    const auto stats = allocator::getDeviceStats(index_);
    const auto kept = stats.reserved_bytes[0].current - stats.allocated_bytes[0].current;
    const PoolCounts counts = ledger_of(index_).counts();
    return {counts.in_use(), counts.at_peak(), free + static_cast<std::uint64_t>(kept), total, 0};
  }
  std::string note_kernels(bool on) override { return log_kernels(index_, on); }
  std::vector<KernelRun> take_kernels() override {
    const c10::cuda::CUDAGuard guard(index_);
    RoleStreams streams{};
    for (std::size_t role = 0; role < streams.size(); ++role) streams[role] = streams_[role].stream();
    return cuda::take_kernels(index_, streams);
  }
  StreamRole current_stream() const override {
    const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream(index_);
    for (const StreamRole role : stream_roles)
      if (stream(role) == current) return role;
    throw Error(ErrorKind::bug, "the current stream of a GPU is none of its rank's");
  }

 private:
  void wait_on(const c10::cuda::CUDAStream& stream, const Event& event) const {
    const auto* const recorded = dynamic_cast<const RecordedEvent*>(event.state().get());
    D9D_CHECK(recorded != nullptr, "a GPU cannot wait for an event of another kind of device");
    const c10::cuda::CUDAGuard guard(index_);
    check(cudaStreamWaitEvent(stream.stream(), recorded->event(), 0), "a stream that waits for an event");
  }
  const c10::cuda::CUDAStream& stream(StreamRole role) const {
    return streams_[static_cast<std::size_t>(role)];
  }

  const c10::DeviceIndex index_;
  const std::shared_ptr<EventPool> events_;
  const std::array<c10::cuda::CUDAStream, stream_roles.size()> streams_;
  const c10::cuda::CUDAStream lifetimes_;  // use_until()
};

}  // namespace

Event timed_event(int index, void* stream) {
  return Event(std::make_shared<RecordedEvent>(timed_events(index), static_cast<cudaStream_t>(stream)));
}

std::shared_ptr<Device> make_device(int index) {
  const int found = c10::cuda::device_count();
  if (index < 0 || index >= found) {
    throw Error(ErrorKind::environment, "GPU " + std::to_string(index) + " is not there: the process sees " +
                                            std::to_string(found) + " (nvidia-smi -L, CUDA_VISIBLE_DEVICES)");
  }
  watch_allocator();
  return std::make_shared<CudaDevice>(index);
}

}  // namespace d9d::cuda
