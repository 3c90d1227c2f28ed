// The device whose work is done at once.
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

class CpuDevice final : public Device {
 public:
  c10::Device place() const override { return c10::Device(c10::kCPU); }
  Event record(StreamRole /*role*/) override { return {}; }
  void wait(StreamRole /*role*/, const Event& event) override { event.wait("an event of another device"); }
  void use(const at::Tensor& /*tensor*/, StreamRole /*role*/) override {}
  StreamRole exchange_stream(StreamRole /*role*/) override { return StreamRole::compute; }
};

}  // namespace

std::shared_ptr<Device> cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace d9d
