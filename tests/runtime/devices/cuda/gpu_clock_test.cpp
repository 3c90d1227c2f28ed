// Times of events of a GPU on the host's clock.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "runtime/base/clock.hpp"
#include "runtime/device/device.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

using GpuClocks = test::OnGpu;

// How far the two clocks may be apart: a look at the GPU's takes some 10 us.
constexpr std::int64_t apart_ns = 100'000;

TEST_F(GpuClocks, SmallEventsTellWhenTheGpuReachedThem) {
  const auto device = plugin_.device(0);
  const SystemClock host;
  const at::Tensor ones = at::ones({4096, 4096}, at::Device(at::kCUDA, 0));
  at::Tensor product = ones.mm(ones);
  device->record().wait("test");

  const std::int64_t before = host.now_ns();
  const Event begun = device->record_time(StreamRole::compute);
  for (int i = 0; i < 20; ++i) product = product.mm(ones);
  const Event done = device->record_time(StreamRole::compute);
  const std::int64_t given = host.now_ns();
  done.wait("test");
  const std::int64_t after = host.now_ns();

  EXPECT_GE(begun.reached_ns(), before - apart_ns);
  EXPECT_LE(begun.reached_ns(), given + apart_ns);
  EXPECT_GT(done.reached_ns(), given - apart_ns);
  EXPECT_LE(done.reached_ns(), after + apart_ns);
  EXPECT_EQ(device->record().reached_ns(), 0) << "of an event without times";
}

}  // namespace
}  // namespace d9d
