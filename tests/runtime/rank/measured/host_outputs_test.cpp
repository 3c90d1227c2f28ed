#include "runtime/rank/measured/host_outputs.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "runtime/device/host_numbers.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d::test {
namespace {

TEST(HostOutputs, AreFilledWithOneWaitForAllOfThem) {
  const auto device = delayed_device(0);
  const at::Tensor doubled = upload(at::arange(6, at::kFloat), *device).mul(2).requires_grad_(true);
  const TensorMap outputs{{"doubled", doubled}, {"ids", at::arange(3)}, {"more", doubled.add(1)}};
  HostWaits::take();

  const TensorMap here = host_outputs(outputs);
  EXPECT_TRUE(HostWaits::take().empty());
  finish_copies(device->place());

  EXPECT_TRUE(here.at("doubled").equal(at::arange(6, at::kFloat) * 2));
  EXPECT_TRUE(here.at("more").equal(at::arange(6, at::kFloat) * 2 + 1));
  EXPECT_FALSE(here.at("doubled").requires_grad());
  EXPECT_TRUE(here.at("ids").is_alias_of(outputs.at("ids")));
}

TEST(HostOutputs, ThatAreTooLargeStayOnTheDevice) {
  const auto device = delayed_device(0);
  const TensorMap outputs{{"large", upload(at::ones({8}), *device)},
                          {"small", upload(at::ones({2}), *device)}};

  const TensorMap here = host_outputs(outputs, 16);

  EXPECT_EQ(here.at("large").device(), device->place());
  EXPECT_TRUE(here.at("small").is_cpu());
}

}  // namespace
}  // namespace d9d::test
