#include "runtime/device/delayed/stream_waits.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "runtime/device/delayed/machine.hpp"
#include "runtime/device/device.hpp"

namespace d9d::delayed {
namespace {

// Another stream adds to what the first one fills behind many other things; returns whether that came right.
bool adds_behind_the_first(std::uint64_t seed) {
  const auto device = delayed_device(0);
  machine(0).reseed(seed);
  const at::Tensor x = at::zeros({8}, at::TensorOptions(device->place()));
  for (int i = 0; i < 8; ++i) x.add_(1);
  {
    const StreamScope scope(*device, StreamRole::communicate);
    const Event added = device->record(StreamRole::compute);
    device->wait(added);
    x.mul_(2);
  }
  device->wait(device->record(StreamRole::communicate));
  return x.cpu().eq(16).all().item<bool>();
}

TEST(StreamWaits, ThatAreLeftOutShow) {
  StreamWaits::restart(0);
  int right = 0, right_without = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) right += adds_behind_the_first(seed) ? 1 : 0;
  const std::uint64_t waits = StreamWaits::count();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    StreamWaits::restart(1);
    right_without += adds_behind_the_first(seed) ? 1 : 0;
  }
  StreamWaits::restart(0);

  EXPECT_EQ(right, 20);
  EXPECT_GE(waits, 20U);
  EXPECT_LE(waits, 40U);  // two each, unless one is reached already
  EXPECT_LT(right_without, 20);
}

TEST(StreamWaits, BehindTheSameStreamAreNone) {
  const auto device = delayed_device(0);
  StreamWaits::restart(0);

  device->wait(device->record(StreamRole::compute));

  EXPECT_EQ(StreamWaits::count(), 0U);
}

}  // namespace
}  // namespace d9d::delayed
