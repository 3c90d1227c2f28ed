#include "runtime/device/host_numbers.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

TEST(HostNumbers, OfADeviceComeWithOneWait) {
  const auto device = delayed_device(0);
  const std::vector<at::Tensor> here{at::scalar_tensor(1.5F), at::scalar_tensor(2.5F).view({1})};
  HostWaits::take();

  EXPECT_THAT(host_numbers(here), ElementsAre(1.5, 2.5));
  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_THAT(host_numbers({upload(here[0], *device), upload(here[1], *device)}), ElementsAre(1.5, 2.5));
  EXPECT_EQ(HostWaits::take().size(), 1U);
  EXPECT_TRUE(host_numbers({}).empty());
}

TEST(HostNumbers, ThatAreIntegersOfTheHostNeedNoWait) {
  const auto device = delayed_device(0);
  const at::Tensor ids = upload(at::arange(6).view({2, 3}).t(), *device);
  HostWaits::take();

  EXPECT_THAT(host_integers(ids), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(host_integers(ids[1]), ElementsAre(1, 4));
  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_THAT(host_integers(ids.mul(2)[0]), ElementsAre(0, 6));
  EXPECT_FALSE(HostWaits::take().empty());
}

TEST(HostNumbers, AreInACopyBehindTheStreamThatMadeThem) {
  const at::Device place = delayed_device(0)->place();
  const at::Tensor there = at::scalar_tensor(1.5F).to(place);

  const at::Tensor here = copy_later(there.add(1));
  HostWaits::take();
  finish_copies(place);
  finish_copies(at::kCPU);

  EXPECT_TRUE(here.is_cpu());
  EXPECT_EQ(here.item<float>(), 2.5F);
  EXPECT_EQ(HostWaits::take().size(), 1U);
}

}  // namespace
}  // namespace d9d
