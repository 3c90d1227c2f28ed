#include "runtime/device/host_memory.hpp"

#include <ATen/ops/empty.h>

#include "runtime/base/log.hpp"

namespace d9d {

at::Tensor host_memory(Device& device, std::int64_t bytes, const char* what) {
  at::Tensor memory = device.pinned(bytes);
  if (memory.defined()) return memory;
  log::warn(
      "the system has no {} MiB of pinned memory for {}: {} waits while they are copied; give the job more "
      "memory of the host",
      bytes >> 20, what, device.place().str());
  return at::empty({bytes}, at::kByte);
}

}  // namespace d9d
