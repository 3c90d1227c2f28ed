// The device as the rest of the program sees it.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

// What the communication stream makes of a tensor that compute fills.
float sum_on_another_stream(bool event, std::uint64_t seed) {
  const auto device = delayed_device(0);
  delayed::machine(0).reseed(seed);
  const at::Tensor x = at::zeros({8}, device->place());
  {
    const WorkName action("0F1");
    x.fill_(1);
  }
  if (event) device->wait(StreamRole::communicate, device->record(StreamRole::compute));
  const StreamScope there(*device, StreamRole::communicate);
  const WorkName collective("all_reduce of dp");
  return x.sum().item<float>();
}

TEST(DelayedDevice, IsRightWithAnEventAndRefusesARaceWithoutOne) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(sum_on_another_stream(true, seed), 8) << "seed " << seed;
    EXPECT_THAT(test::error_of([&] { sum_on_another_stream(false, seed); }, ErrorKind::bug),
                testing::HasSubstr("aten::sum on delayed:0 communicate in all_reduce of dp, "
                                   "which reads them, does not come behind aten::fill_ on "
                                   "delayed:0 compute in 0F1, which writes them"))
        << "seed " << seed;
  }
}

TEST(DelayedDevice, TellsWhenAnEventIsReached) {
  const auto device = delayed_device(0);
  delayed::machine(0).reseed(5);
  HostWaits::take();
  const at::Tensor x = at::ones({2}, device->place());

  const Event event = device->record(StreamRole::compute);
  const bool before = event.done();
  event.wait("a test");

  EXPECT_FALSE(before);
  EXPECT_TRUE(event.done());
  EXPECT_EQ(HostWaits::take(), (HostWaits::Counts{{{"", "a test"}, 1}}));
}

TEST(DelayedDevice, KeepsMemoryThatAnotherStreamUses) {
  const auto device = delayed_device(0);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    delayed::machine(0).reseed(seed);
    at::Tensor x = at::ones({64}, device->place());
    device->wait(StreamRole::copy_out, device->record(StreamRole::compute));
    at::Tensor out;
    {
      const StreamScope there(*device, StreamRole::copy_out);
      out = x.mul(2);
    }
    device->use(x, StreamRole::copy_out);
    x = at::Tensor();
    const at::Tensor again = at::ones({64}, device->place()).mul_(7);
    const StreamScope there(*device, StreamRole::copy_out);
    EXPECT_TRUE(out.cpu().equal(at::ones({64}).mul(2))) << "seed " << seed;
  }
}

TEST(DelayedDevice, RefusesAnIndexThatIsTooLarge) {
  EXPECT_THROW(delayed_device(8), Error);
}

}  // namespace
}  // namespace d9d
