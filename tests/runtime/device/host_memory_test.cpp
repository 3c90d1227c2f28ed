#include "runtime/device/host_memory.hpp"

#include <gtest/gtest.h>

#include "runtime/devices/delayed/delayed_device.hpp"
#include "tests/support/idle_device.hpp"

namespace d9d {
namespace {

TEST(HostMemory, IsOnTheHostAndPoisonedUntilItIsWritten) {
  const at::Tensor memory = host_memory(*delayed_device(0), 1000, "a test");

  EXPECT_TRUE(memory.is_cpu());
  EXPECT_EQ(memory.sizes(), at::IntArrayRef({1000}));
  EXPECT_EQ(memory.scalar_type(), at::kByte);
  EXPECT_TRUE(memory.eq(0xFF).all().item<bool>());
}

TEST(HostMemory, IsAnyMemoryWhereNoneCanBePinned) {
  test::IdleDevice device;  // has none

  const at::Tensor memory = host_memory(device, 1000, "a test");

  EXPECT_TRUE(memory.is_cpu());
  EXPECT_EQ(memory.sizes(), at::IntArrayRef({1000}));
}

}  // namespace
}  // namespace d9d
