// The device whose work is done at once.
#include <ATen/core/Tensor.h>

#include <array>

#include "runtime/base/error.hpp"
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
};

}  // namespace

std::shared_ptr<Device> cpu_device() {
  return std::make_shared<CpuDevice>();
}

Device& device_of(c10::Device place) {
  static const auto cpu = std::make_unique<CpuDevice>();
  if (place.is_cpu()) return *cpu;
  D9D_CHECK(place.type() == c10::kPrivateUse1, "no device knows tensors of {}", place.str());
  // Without them tensors of delayed devices would not be there.
  static const std::array<std::shared_ptr<Device>, 8> delayed = [] {
    std::array<std::shared_ptr<Device>, 8> devices;
    for (int index = 0; index < 8; ++index) devices[static_cast<std::size_t>(index)] = delayed_device(index);
    return devices;
  }();
  return *delayed.at(static_cast<std::size_t>(place.index()));
}

}  // namespace d9d
