#include "kernels/cuda/cuda_device.hpp"

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/cuda/gpu_clock.hpp"
#include "runtime/base/error.hpp"

namespace d9d::cuda {
namespace {

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw Error(ErrorKind::environment, std::string(what) + ": CUDA says \"" + cudaGetErrorString(code) + "\"");
}

// Events of one GPU, used again when nobody asks for them any more. Any thread.
class EventPool {
 public:
  explicit EventPool(int index, std::shared_ptr<GpuClock> clock = nullptr)
      : index_(index), clock_(std::move(clock)) {}
  ~EventPool() {
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
  RecordedEvent(std::shared_ptr<EventPool> pool, int index, cudaStream_t stream)
      : pool_(std::move(pool)), event_(pool_->take()) {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(index));
    const cudaError_t code = cudaEventRecord(event_, stream);
    if (code != cudaSuccess) pool_->give_back(event_);
    check(code, "an event of a stream");
  }
  ~RecordedEvent() override { pool_->give_back(event_); }
  RecordedEvent(const RecordedEvent&) = delete;
  RecordedEvent& operator=(const RecordedEvent&) = delete;

  bool reached() const override {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) return false;
    check(code, "the work before an event");
    return true;
  }
  void wait() const override { check(cudaEventSynchronize(event_), "the work before an event"); }
  std::int64_t reached_ns() const override {
    return pool_->clock() != nullptr && reached() ? pool_->clock()->ns_of(event_) : 0;
  }
  cudaEvent_t event() const { return event_; }

 private:
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
                 c10::cuda::getStreamFromPool(false, index_), c10::cuda::getStreamFromPool(false, index_)} {}

  c10::Device place() const override { return {c10::kCUDA, index_}; }
  Event record(StreamRole role) override {
    return Event(std::make_shared<RecordedEvent>(events_, index_, stream(role).stream()));
  }
  Event record_time(StreamRole role) override { return timed_event(index_, stream(role).stream()); }
  void wait(StreamRole role, const Event& event) override {
    if (!event.state()) return;
    const auto* const recorded = dynamic_cast<const RecordedEvent*>(event.state().get());
    D9D_CHECK(recorded != nullptr, "a GPU cannot wait for an event of another kind of device");
    const c10::cuda::CUDAGuard guard(index_);
    check(cudaStreamWaitEvent(stream(role).stream(), recorded->event(), 0),
          "a stream that waits for an event");
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
  // The allocator takes streams only: one that waits for the event stands for it.
  void use_until(const at::Tensor& tensor, const Event& event) override {
    if (tensor.device() != place()) return;
    wait(StreamRole::copy_out, event);
    use(tensor, StreamRole::copy_out);
  }
  // Between GPUs not by copy_, which runs on the stream of the GPU it reads and makes that one wait for ours.
  void copy(const at::Tensor& into, const at::Tensor& from) override {
    if (from.numel() == 0) return;
    if (!from.is_cuda() || from.device() == place() || !into.is_contiguous() || !from.is_contiguous()) {
      into.copy_(from, /*non_blocking=*/true);
      return;
    }
    const c10::cuda::CUDAGuard guard(index_);
    check(cudaMemcpyPeerAsync(into.mutable_data_ptr(), index_, from.const_data_ptr(), from.device().index(),
                              from.nbytes(), stream(current_stream()).stream()),
          "a copy between GPUs");
  }
  StreamRole current_stream() const override {
    const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream(index_);
    for (const StreamRole role : roles)
      if (stream(role) == current) return role;
    throw Error(ErrorKind::bug, "the current stream of a GPU is none of its rank's");
  }

 private:
  static constexpr std::array<StreamRole, 4> roles{StreamRole::compute, StreamRole::communicate,
                                                   StreamRole::copy_in, StreamRole::copy_out};
  const c10::cuda::CUDAStream& stream(StreamRole role) const {
    return streams_[static_cast<std::size_t>(role)];
  }

  const c10::DeviceIndex index_;
  const std::shared_ptr<EventPool> events_;
  const std::array<c10::cuda::CUDAStream, 4> streams_;
};

}  // namespace

Event timed_event(int index, void* stream) {
  return Event(
      std::make_shared<RecordedEvent>(timed_events(index), index, static_cast<cudaStream_t>(stream)));
}

std::shared_ptr<Device> make_device(int index) {
  const int found = c10::cuda::device_count();
  if (index < 0 || index >= found) {
    throw Error(ErrorKind::environment, "GPU " + std::to_string(index) + " is not there: the process sees " +
                                            std::to_string(found) + " (nvidia-smi -L, CUDA_VISIBLE_DEVICES)");
  }
  return std::make_shared<CudaDevice>(index);
}

}  // namespace d9d::cuda
