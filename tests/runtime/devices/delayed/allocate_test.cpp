// Memory that goes back while another stream may still use it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include "runtime/device/device.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::delayed {
namespace {

// copy_out reads what is then freed; `told` how the device hears of the use.
void free_after_use(const std::function<void(Device&, const at::Tensor&)>& told) {
  const auto device = delayed_device(0);
  at::Tensor x = at::ones({64}, at::TensorOptions(device->place()));
  device->wait(StreamRole::copy_out, device->record(StreamRole::compute));
  at::Tensor out;
  {
    const StreamScope there(*device, StreamRole::copy_out);
    out = x.mul(2);
    told(*device, x);
  }
  const WorkName action("0B1");
  x = at::Tensor();
  at::ones({8}, at::TensorOptions(device->place()));
}

TEST(DelayedAllocate, RefusesWorkAfterMemoryWasFreedBesideItsUse) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    machine(0).reseed(seed);
    EXPECT_THAT(test::error_of([&] { free_after_use([](Device&, const at::Tensor&) {}); }),
                testing::HasSubstr("the end of its life on delayed:0 compute in 0B1, which writes them, "
                                   "does not come behind aten::mul on delayed:0 copy_out"))
        << "seed " << seed;
  }
}

TEST(DelayedAllocate, TakesAUseThatItWasToldOf) {
  machine(0).reseed(1);
  free_after_use([](Device& device, const at::Tensor& x) { device.use(x, StreamRole::copy_out); });
  free_after_use([](Device& device, const at::Tensor& x) { device.use_until(x, device.record()); });
  free_after_use([](Device& device, const at::Tensor& x) {
    const Event used = device.record();
    used.wait("a test");
    device.use_until(x, used);
  });
}

// A wait would order what the program forgot to.
TEST(DelayedAllocate, KeepsFreedMemoryUntilItsStreamComesBehindTheUse) {
  const auto device = delayed_device(0);
  at::Tensor x = at::ones({3000}, at::TensorOptions(device->place()));
  const void* const first = x.storage().data_ptr().get();
  device->wait(StreamRole::copy_out, device->record(StreamRole::compute));
  {
    const StreamScope there(*device, StreamRole::copy_out);
    x.mul_(2);
    device->use(x, StreamRole::copy_out);
  }

  x = at::Tensor();
  const at::Tensor before = at::ones({3000}, at::TensorOptions(device->place()));
  device->wait(StreamRole::compute, device->record(StreamRole::copy_out));
  const at::Tensor behind = at::ones({3000}, at::TensorOptions(device->place()));

  EXPECT_NE(before.storage().data_ptr().get(), first);
  EXPECT_EQ(behind.storage().data_ptr().get(), first);
}

TEST(DelayedAllocate, RefusesWorkOnFreedMemory) {
  Machine& own = machine(0);
  c10::DataPtr data = own.allocate(512, 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(data.get());
  data.clear();

  EXPECT_THAT(test::error_of([&] {
                own.enqueue(0, {"a test", {{begin, begin + 4, false}}}, [] {});
              }),
              testing::HasSubstr("a test on delayed:0 compute touches memory of a delayed device "
                                 "that was freed before"));
}

}  // namespace
}  // namespace d9d::delayed
