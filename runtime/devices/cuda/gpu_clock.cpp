#include "runtime/devices/cuda/gpu_clock.hpp"

#include <c10/cuda/CUDAGuard.h>

#include <cmath>
#include <limits>
#include <string>

#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"

namespace d9d::cuda {
namespace {

// CUDA gives times as floats of milliseconds: after a second they are good to a tenth of a microsecond.
constexpr std::int64_t base_lives_ns = 1'000'000'000;

void require(cudaError_t code) {
  if (code == cudaSuccess) return;
  throw Error(ErrorKind::environment,
              std::string("the time of a GPU's event: CUDA says \"") + cudaGetErrorString(code) + "\"");
}

std::int64_t now_ns() {
  return SystemClock().now_ns();
}

}  // namespace

std::int64_t GpuClock::ns_of(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(index_));
  if (base_ == nullptr || now_ns() - base_ns_ > base_lives_ns) measure();
  float ms = 0;  // less than 0 if the event was reached before the base
  require(cudaEventElapsedTime(&ms, base_, event));
  return base_ns_ + std::llround(1e6 * static_cast<double>(ms));
}

// The stream is idle, so an event on it is reached between two looks at the host's clock; the closest two count.
void GpuClock::measure() {
  if (stream_ == nullptr) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (cudaEvent_t& event : tries_) require(cudaEventCreate(&event));
  }
  std::int64_t closest = std::numeric_limits<std::int64_t>::max();
  for (cudaEvent_t event : tries_) {
    const std::int64_t before = now_ns();
    require(cudaEventRecord(event, stream_));
    require(cudaEventSynchronize(event));
    const std::int64_t after = now_ns();
    if (after - before >= closest) continue;
    closest = after - before;
    base_ = event;
    base_ns_ = before + closest / 2;
  }
}

}  // namespace d9d::cuda
