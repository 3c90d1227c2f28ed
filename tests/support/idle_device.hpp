#pragma once
// A device that does nothing; tests overwrite what they look at.

#include <ATen/core/Tensor.h>

#include "runtime/device/device.hpp"

namespace d9d::test {

class IdleDevice : public Device {
 public:
  c10::Device place() const override { return c10::Device(c10::kMeta); }
  Event record(StreamRole) override { return {}; }
  void wait(StreamRole, const Event&) override {}
  void use(const at::Tensor&, StreamRole) override {}
  void use_until(const at::Tensor&, const Event&) override {}
  StreamRole exchange_stream(StreamRole) override { return StreamRole::compute; }
  StreamRole current_stream() const override { return StreamRole::compute; }
  void copy(const at::Tensor&, const at::Tensor&) override {}
  at::Tensor pinned(std::int64_t) override { return {}; }
  void finish() override {}
  void trim() override {}
};

}  // namespace d9d::test
