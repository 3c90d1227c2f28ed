// The CPU as a device. Its work is done when a call returns.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "runtime/device/device.hpp"

namespace d9d {
namespace {

class CpuDevice final : public Device {
 public:
  c10::Device place() const override { return c10::Device(c10::kCPU); }
  Event record(StreamRole /*role*/) override { return {}; }
  void wait(StreamRole /*role*/, const Event& event) override { event.wait("an event of another device"); }
  void use(const at::Tensor& /*tensor*/, StreamRole /*role*/) override {}
  void use_until(const at::Tensor& /*tensor*/, const Event& /*event*/) override {}
  StreamRole exchange_stream(StreamRole /*role*/) override { return StreamRole::compute; }
  StreamRole current_stream() const override { return StreamRole::compute; }
  void copy(const at::Tensor& into, const at::Tensor& from) override { into.copy_(from); }
  at::Tensor pinned(std::int64_t bytes) override { return at::empty({bytes}, at::kByte); }
  void finish() override {}
  void trim() override {}  // the host's allocator serves more than tensors (rank/state/slept_memory)
};

}  // namespace

std::shared_ptr<Device> cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace d9d
