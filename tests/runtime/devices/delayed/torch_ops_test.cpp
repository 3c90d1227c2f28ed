// Making, viewing, copying and reading tensors.
#include "runtime/devices/delayed/torch_ops.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

TEST(DelayedTensors, GoThereAndBack) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor here = at::arange(24, at::kFloat).view({2, 3, 4});
  HostWaits::take();

  const at::Tensor there = here.to(device, /*non_blocking=*/true);
  const HostWaits::Counts after_copy = HostWaits::take();
  here.to(device);
  const HostWaits::Counts after_blocking = HostWaits::take();
  const at::Tensor back = there.transpose(0, 2).cpu();

  EXPECT_EQ(there.device(), device);
  EXPECT_TRUE(after_copy.empty());
  EXPECT_EQ(after_blocking, (HostWaits::Counts{{{"", "copy_ to the device"}, 1}}));
  EXPECT_TRUE(back.equal(here.transpose(0, 2)));
  EXPECT_EQ(HostWaits::take(), (HostWaits::Counts{{{"", "copy_ to the host"}, 1}}));
}

TEST(DelayedTensors, AreNotANumberBeforeTheyAreWritten) {
  const at::Device device = delayed_device(0)->place();
  { const at::Tensor freed = at::ones({32}, device); }

  const at::Tensor again = at::empty({32}, device), fresh = at::empty({1000}, device);

  EXPECT_TRUE(again.isnan().all().item<bool>());
  EXPECT_TRUE(fresh.isnan().all().item<bool>());
}

TEST(DelayedTensors, AreViewedWithoutACopy) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor there = at::arange(24, at::kFloat).to(device), here = at::arange(24, at::kFloat);

  there.view({4, 6}).narrow(1, 2, 3).t().mul_(10);
  there.unfold(0, 2, 2).select(1, 0).add_(1);
  here.view({4, 6}).narrow(1, 2, 3).t().mul_(10);
  here.unfold(0, 2, 2).select(1, 0).add_(1);

  EXPECT_TRUE(there.cpu().equal(here));
}

// As pinned memory of the host: read when the copy runs, not when it is asked for.
TEST(DelayedTensors, ReadTheHostLateWhereACopyMayNotBlock) {
  const auto device = delayed_device(0);
  machine(0).reseed(5);
  at::Tensor blocking = at::zeros({4}), late = at::zeros({4});
  const at::Tensor one = at::empty({4}, device->place()), other = at::empty({4}, device->place());

  one.copy_(blocking);
  other.copy_(late, /*non_blocking=*/true);
  blocking.fill_(1);
  late.fill_(1);

  EXPECT_EQ(one.sum().item<float>(), 0);
  EXPECT_EQ(other.sum().item<float>(), 4);
}

TEST(DelayedTensors, ReachTheHostBehindAnEventWhereACopyMayNotBlock) {
  const auto device = delayed_device(0);
  const at::Tensor there = at::ones({4}, device->place());
  at::Tensor here = at::zeros({4});
  HostWaits::take();

  here.copy_(there, /*non_blocking=*/true);
  EXPECT_TRUE(HostWaits::take().empty());
  device->record(StreamRole::compute).wait("the copy");

  EXPECT_TRUE(here.equal(at::ones({4})));
}

TEST(DelayedTensors, SelectRowsWithoutAWait) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor rows = at::arange(12, at::kFloat).view({4, 3}), index = at::arange(3, 0, -1, at::kLong);
  const at::Tensor rows_there = rows.to(device), index_there = index.to(device);
  HostWaits::take();

  const at::Tensor chosen = rows_there.index_select(0, index_there);

  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_TRUE(chosen.cpu().equal(rows.index_select(0, index)));
}

}  // namespace
}  // namespace d9d::delayed
