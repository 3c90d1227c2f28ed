#pragma once
// When a GPU reached an event, on the host's clock (SystemClock::now_ns). A GPU tells the time between two events;
// where one of them is on the host's clock is measured on a stream that has nothing else to do, so that no host waits
// for work, and measured anew as the two clocks drift apart.

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <mutex>

namespace d9d::cuda {

class GpuClock {
 public:
  // `index` of a GPU that the process sees. Its events and its stream are never given back.
  explicit GpuClock(int index) : index_(index) {}
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // Of an event with times that has been reached. Any thread. Environment error where CUDA fails.
  std::int64_t ns_of(cudaEvent_t event);

 private:
  void measure();

  const int index_;
  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 3> tries_{};
  cudaEvent_t base_ = nullptr;  // one of them, reached at base_ns_
  std::int64_t base_ns_ = 0;
};

}  // namespace d9d::cuda
