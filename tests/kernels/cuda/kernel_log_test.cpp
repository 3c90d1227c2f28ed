// What a GPU runs, kernel by kernel, as CUPTI tells it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/clock.hpp"
#include "runtime/device/device.hpp"
#include "tests/kernels/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

using KernelLog = test::OnGpu;

constexpr std::int64_t apart_ns = 1'000'000;  // CUPTI's clock of the GPU and that of its events

TEST_F(KernelLog, SmallKernelsAreNotedWithStreamAndTimeWhileSomebodyAsks) {
  const auto device = plugin_.device(0);
  const SystemClock host;
  const at::Tensor ones = at::ones({2048, 2048}, at::Device(at::kCUDA, 0));
  device->record().wait("test");
  ASSERT_EQ(device->note_kernels(true), "");

  const std::int64_t before = host.now_ns();
  at::Tensor product = ones.mm(ones);
  const Event done = device->record(StreamRole::compute);
  device->wait(StreamRole::copy_out, done);
  {
    const StreamScope scope(*device, StreamRole::copy_out);
    product.mul(2);
  }
  device->finish();
  const std::int64_t after = host.now_ns();
  const std::vector<KernelRun> seen = device->take_kernels();
  EXPECT_EQ(device->note_kernels(false), "");
  ones.mm(ones);
  device->finish();

  ASSERT_EQ(seen.size(), 2U);
  const auto on = [&](StreamRole stream) {
    return *std::find_if(seen.begin(), seen.end(), [&](const auto& each) { return each.stream == stream; });
  };
  const KernelRun first = on(StreamRole::compute), second = on(StreamRole::copy_out);
  for (const KernelRun& kernel : {first, second}) {
    EXPECT_FALSE(kernel.name.empty());
    EXPECT_GT(kernel.end_ns, kernel.begin_ns);
    EXPECT_GE(kernel.begin_ns, before - apart_ns);
    EXPECT_LE(kernel.end_ns, after + apart_ns);
  }
  EXPECT_LE(first.end_ns, second.begin_ns);
  EXPECT_NE(second.name.find("elementwise"), std::string::npos) << second.name;
  EXPECT_TRUE(device->take_kernels().empty());
}

}  // namespace
}  // namespace d9d
