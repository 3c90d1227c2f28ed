#include <gmock/gmock.h>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(KnownDevices, AreTheHostTheDelayedOnesAndThoseThatWereKept) {
  const auto delayed = delayed_device(3);

  EXPECT_TRUE(device_of(c10::Device(c10::kCPU)).is_cpu());
  EXPECT_EQ(device_of(delayed->place()).place(), delayed->place());
  EXPECT_THAT(test::error_of([] { device_of(c10::Device(c10::kCUDA, 5)); }),
              ::testing::HasSubstr("no device knows tensors of cuda:5"));
}

// Each has streams of its own: what waits on those of one would not wait on those of the other.
TEST(KnownDevices, OfOnePlaceAreOne) {
  const auto first = keep_device(delayed_device(4));

  EXPECT_EQ(keep_device(delayed_device(4)), first);
  EXPECT_EQ(&device_of(first->place()), first.get());
}

}  // namespace
}  // namespace d9d
