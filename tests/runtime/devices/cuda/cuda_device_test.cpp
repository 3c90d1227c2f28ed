// Streams and events of a GPU. That one is missing is told everywhere.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include "runtime/device/device.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using CudaDevice = test::OnGpu;

TEST(CudaPlugin, RefusesAGpuThatIsNotThere) {
  const DevicePlugin plugin(DeviceLibrary::cuda);

  EXPECT_THAT(test::error_of([&] { plugin.device(1000); }, ErrorKind::environment),
              testing::HasSubstr("GPU 1000 is not there"));
}

// Work that takes a while is given to one stream; the other reads its result behind an event.
TEST_F(CudaDevice, SmallStreamsWaitForEventsOfEachOther) {
  const auto device = plugin_.device(0);
  const at::Tensor ones = at::ones({2048, 2048}, at::Device(at::kCUDA, 0));
  at::Tensor copy;

  at::Tensor product = ones.mm(ones);
  for (int i = 0; i < 20; ++i) product = product.mm(ones).div(2048);
  const Event done = device->record(StreamRole::compute);
  device->wait(StreamRole::copy_out, done);
  {
    const StreamScope scope(*device, StreamRole::copy_out);
    copy = product.clone();
    device->use(product, StreamRole::copy_out);
  }
  const Event copied = device->record(StreamRole::copy_out);
  copied.wait("test");

  EXPECT_TRUE(done.done());
  EXPECT_TRUE(copied.done());
  EXPECT_EQ(copy.min().item<float>(), 2048);
  EXPECT_EQ(copy.max().item<float>(), 2048);
}

// A snapshot does not wait for a collective that has nothing to do with it.
TEST_F(CudaDevice, CopiesOutDoNotWaitForTheUseOfOtherTensors) {
  const auto device = plugin_.device(0);
  const at::Tensor ones = at::ones({4096, 4096}, at::Device(at::kCUDA, 0)),
                   few = at::ones({64}, ones.options());
  const at::Tensor here = device->pinned(256).view(at::kFloat);
  device->finish();

  at::Tensor product = ones.mm(ones);
  for (int i = 0; i < 100; ++i) product = product.mm(ones).div(4096);
  const Event late = device->record(StreamRole::compute);
  device->use_until(ones, late);
  {
    const StreamScope scope(*device, StreamRole::copy_out);
    here.copy_(few, /*non_blocking=*/true);
  }
  device->record(StreamRole::copy_out).wait("test");

  EXPECT_FALSE(late.done());
  EXPECT_EQ(here.sum().item<float>(), 64);
  device->finish();
}

// The host is far ahead when the copy is made.
TEST_F(CudaDevice, CopiesReachPinnedMemoryBesideTheHost) {
  const auto device = plugin_.device(0);
  const at::Tensor ones = at::ones({2048, 2048}, at::Device(at::kCUDA, 0));
  const at::Tensor memory = device->pinned(2048 * 2048 * 4);
  const at::Tensor here = memory.view(at::kFloat).view({2048, 2048}), back = at::empty_like(ones);
  EXPECT_TRUE(memory.is_pinned());
  device->finish();

  at::Tensor product = ones.mm(ones);
  for (int i = 0; i < 20; ++i) product = product.mm(ones).div(2048);
  device->wait(StreamRole::copy_out, device->record(StreamRole::compute));
  {
    const StreamScope scope(*device, StreamRole::copy_out);
    here.copy_(product, /*non_blocking=*/true);
  }
  const Event copied = device->record(StreamRole::copy_out);
  EXPECT_FALSE(copied.done()) << "the host has waited";
  device->wait(StreamRole::copy_in, copied);
  {
    const StreamScope scope(*device, StreamRole::copy_in);
    back.copy_(here, /*non_blocking=*/true);
  }
  device->wait(StreamRole::compute, device->record(StreamRole::copy_in));

  EXPECT_EQ(back.min().item<float>(), 2048);
  EXPECT_EQ(here.max().item<float>(), 2048);
}

TEST_F(CudaDevice, SmallMemoryIsCountedByPoolAndGoesBackToTheDriver) {
  const auto device = plugin_.device(0);
  const DeviceMemory before = device->memory();
  const auto grown = [&](MemoryPool pool) {
    const auto at = static_cast<std::size_t>(pool);
    return device->memory().in_use[at] - before.in_use[at];
  };
  at::Tensor weights;
  {
    const PoolScope pool(MemoryPool::state);
    weights = at::ones({1 << 20}, at::Device(at::kCUDA, 0));
  }
  const at::Tensor hidden = at::ones({1 << 18}, at::Device(at::kCUDA, 0));

  EXPECT_EQ(grown(MemoryPool::state), 4U << 20);
  EXPECT_EQ(grown(MemoryPool::activations), 1U << 20);
  weights = at::Tensor();
  EXPECT_EQ(grown(MemoryPool::state), 0U);
  device->finish();
  device->trim();
  EXPECT_GT(device->memory().free, 0U);
  EXPECT_LE(device->memory().free, device->memory().limit);
}

// Not "Small": a sanitizer takes the failed call of CUDA for a fault.
TEST_F(CudaDevice, SaysWhatIsInUseWhereMemoryIsOut) {
  const auto device = plugin_.device(0);
  std::string said;
  try {
    at::ones({std::int64_t{1} << 42}, at::Device(at::kCUDA, 0));
  } catch (const c10::OutOfMemoryError& error) {
    said = error.what();
  }
  EXPECT_THAT(said, testing::HasSubstr("are free on the device; in use are state"));
  EXPECT_GT(device->memory().free, 0U);
}

// The two streams of stages in a V (reference PIPE-14): forward and backward of one beside work of the other, joined by
// events.
TEST_F(CudaDevice, SmallBackwardsRunOnTheComputeStreamOfTheirForward) {
  const auto device = plugin_.device(0);
  const at::Tensor ones = at::ones({1024, 1024}, at::Device(at::kCUDA, 0));
  const at::Tensor weight = at::full({1024, 1024}, 2.0, ones.options()).requires_grad_(true);
  at::Tensor other = ones.mm(ones);
  device->wait(StreamRole::compute_beside, device->record(StreamRole::compute));
  for (int i = 0; i < 20; ++i) other = other.mm(ones).div(1024);
  {
    const StreamScope beside(*device, StreamRole::compute_beside);
    ones.mm(weight).sum().backward();
  }
  device->wait(StreamRole::compute, device->record(StreamRole::compute_beside));
  const at::Tensor sum = weight.grad().add(other);
  device->use(weight.grad(), StreamRole::compute);

  EXPECT_EQ(sum.min().item<float>(), 2048);
  EXPECT_EQ(sum.max().item<float>(), 2048);
}

TEST_F(CudaDevice, SmallThreadsBeginOnTheComputeStream) {
  const auto device = plugin_.device(0);

  EXPECT_EQ(device->exchange_stream(StreamRole::communicate), StreamRole::compute);
  EXPECT_EQ(device->exchange_stream(StreamRole::compute), StreamRole::communicate);
}

}  // namespace
}  // namespace d9d
