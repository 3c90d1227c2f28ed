#include "runtime/rank/feed/device_inputs.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "kernels/memory/host_values.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d {
namespace {

MicrobatchTensors given() {
  return {.inputs = {{"input_ids", at::arange(6).view({2, 3})}},
          .shared = {{"mask", at::ones({2, 3})}},
          .state = {{"num_tokens", at::arange(1)}}};
}

// LOOP-91: the host goes on while the copies run; read ahead and ends: loader_test, stream_reader_test.
TEST(DeviceInputs, GoToTheDeviceAndTheHostKnowsTheirIntegers) {
  const auto device = delayed_device(0);
  HostWaits::take();

  const MicrobatchTensors there = on_device(given(), *device);
  const at::Tensor& ids = there.inputs.at("input_ids");

  EXPECT_EQ(ids.device(), device->place());
  EXPECT_EQ(there.shared.at("mask").device(), device->place());
  EXPECT_TRUE(there.state.at("num_tokens").is_cpu());
  EXPECT_TRUE(kernels::host_values(ids.narrow(1, 1, 2)).equal(at::arange(6).view({2, 3}).narrow(1, 1, 2)));
  EXPECT_FALSE(kernels::host_values(there.shared.at("mask")).defined());
  EXPECT_TRUE(HostWaits::take().empty());
}

TEST(DeviceInputs, StayWhereTheyAreOnTheCpu) {
  const MicrobatchTensors before = given();

  const MicrobatchTensors after = on_device(before, *cpu_device());

  EXPECT_EQ(after.inputs.at("input_ids").data_ptr(), before.inputs.at("input_ids").data_ptr());
}

}  // namespace
}  // namespace d9d
