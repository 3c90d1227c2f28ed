// Streams and events as torch's own code uses them.
#include "runtime/devices/delayed/guard.hpp"

#include <ATen/ops/ones.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d::delayed {
namespace {

TEST(DelayedGuard, SwitchesStreamsAndKeepsOrderByEvents) {
  const auto device = delayed_device(0);
  const c10::Stream compute = c10::impl::VirtualGuardImpl(c10::kPrivateUse1).getStream(device->place());
  const c10::Stream other(c10::Stream::UNSAFE, device->place(),
                          static_cast<c10::StreamId>(StreamRole::communicate));
  const at::Tensor x = at::ones({4}, device->place());

  c10::Event event(c10::kPrivateUse1);
  event.record(compute);
  at::Tensor y;
  {
    const c10::StreamGuard guard(other);
    other.wait(event);
    y = x.add(1);
  }
  other.synchronize();

  EXPECT_TRUE(event.query());
  EXPECT_TRUE(other.query());
  EXPECT_EQ(c10::impl::VirtualGuardImpl(c10::kPrivateUse1).getStream(device->place()), compute);
  EXPECT_TRUE(y.cpu().equal(at::ones({4}).mul(2)));
}

TEST(DelayedGuard, KnowsAFixedNumberOfDevices) {
  const auto device = delayed_device(0);
  const c10::impl::VirtualGuardImpl guard(c10::kPrivateUse1);

  EXPECT_EQ(guard.deviceCount(), 8);
  EXPECT_EQ(guard.getDevice(), device->place());
  EXPECT_EQ(device->place().str(), "delayed:0");
}

}  // namespace
}  // namespace d9d::delayed
