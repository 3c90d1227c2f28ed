#include "runtime/device/upload.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "kernels/memory/host_values.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d {
namespace {

// DATA-11: what is sent does not stop the host, which is what pinned memory is for on a GPU.
TEST(Upload, LetsTheHostGoOnKnowingIntegers) {
  const auto device = delayed_device(0);
  const at::Tensor here = at::arange(12).view({3, 4}).t();
  HostWaits::take();

  const at::Tensor there = upload(here, *device), weights = upload(at::ones({2}), *device);

  EXPECT_EQ(there.device(), device->place());
  EXPECT_TRUE(kernels::host_values(there).equal(here));
  EXPECT_FALSE(kernels::host_values(weights).defined());
  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_TRUE(there.cpu().equal(here));
}

TEST(Upload, LeavesWhatIsThere) {
  const at::Tensor here = at::arange(3);

  EXPECT_TRUE(upload(here, *cpu_device()).is_same(here));
}

}  // namespace
}  // namespace d9d
