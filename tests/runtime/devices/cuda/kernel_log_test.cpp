// What a GPU runs, kernel by kernel, as CUPTI tells it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/clock.hpp"
#include "runtime/device/device.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

using KernelLog = test::OnGpu;

constexpr std::int64_t cupti_apart_ns = 1'000'000;  // CUPTI's clock of the GPU and that of its events

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

  std::int64_t product_ended = 0, doubled_began = 0;  // a product may be several kernels
  for (const KernelRun& kernel : seen) {
    EXPECT_FALSE(kernel.name.empty());
    EXPECT_GT(kernel.end_ns, kernel.begin_ns);
    EXPECT_GE(kernel.begin_ns, before - cupti_apart_ns);
    EXPECT_LE(kernel.end_ns, after + cupti_apart_ns);
    if (kernel.stream == StreamRole::compute) product_ended = std::max(product_ended, kernel.end_ns);
    if (kernel.stream != StreamRole::copy_out) continue;
    EXPECT_EQ(doubled_began, 0) << kernel.name;
    EXPECT_NE(kernel.name.find("elementwise"), std::string::npos) << kernel.name;
    doubled_began = kernel.begin_ns;
  }
  EXPECT_GT(product_ended, 0);
  EXPECT_GE(doubled_began, product_ended);
  EXPECT_TRUE(device->take_kernels().empty());
}

}  // namespace
}  // namespace d9d
