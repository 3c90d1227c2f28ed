#include "runtime/device/device.hpp"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(CpuDevice, HasDoneItsWorkWhenACallReturns) {
  const auto device = cpu_device();

  const Event event = device->record(StreamRole::compute);
  device->wait(StreamRole::communicate, event);
  device->use(at::ones({2}), StreamRole::copy_out);

  EXPECT_TRUE(device->is_cpu());
  EXPECT_TRUE(event.done());
  EXPECT_EQ(event.state(), nullptr);
  const StreamScope scope(*device, StreamRole::copy_in);
}

}  // namespace
}  // namespace d9d
