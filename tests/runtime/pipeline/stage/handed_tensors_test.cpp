#include "runtime/pipeline/stage/handed_tensors.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "kernels/memory/host_values.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d {
namespace {

TEST(HandedTensors, OfTheCpuStayTheTensorsThatTheyAre) {
  TensorTable table(4);
  const auto cpu = cpu_device();
  const at::Tensor x = at::full({3}, 2.0).requires_grad_(true);

  const TensorMap taken = take_over(table, hand_over(table, {{"x", x}}, *cpu), *cpu);

  EXPECT_TRUE(taken.at("x").is_same(x));
}

// In every order of work, with the sender's memory used again at once, and no host that waits.
TEST(HandedTensors, ComeToAnotherDeviceBehindWhatFillsThem) {
  TensorTable table(4);
  const auto from = delayed_device(0), to = delayed_device(1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    delayed::machine(0).reseed(seed);
    delayed::machine(1).reseed(seed + 100);
    HostWaits::take();
    Ticket ticket;
    {
      const at::Tensor x = at::full({32, 4}, 1.0).to(from->place(), /*non_blocking=*/true).add(2);
      ticket = hand_over(table, {{"x", x.t().requires_grad_(true)}}, *from);
    }
    const TensorMap taken = take_over(table, ticket, *to);
    const at::Tensor next = at::full({32, 4}, 9.0).to(from->place(), /*non_blocking=*/true);  // where x was
    const at::Tensor y = taken.at("x").detach().mul(2);

    EXPECT_TRUE(HostWaits::take().empty());
    EXPECT_EQ(y.device(), to->place());
    EXPECT_TRUE(taken.at("x").requires_grad());
    EXPECT_TRUE(y.cpu().eq(6).all().item<bool>()) << "seed " << seed;
    EXPECT_TRUE(next.cpu().eq(9).all().item<bool>()) << "seed " << seed;
  }
}

TEST(HandedTensors, OfTheHostStayThere) {
  TensorTable table(4);
  const auto from = delayed_device(0), to = delayed_device(1);
  const at::Tensor known = at::arange(6);

  const TensorMap taken = take_over(table, hand_over(table, {{"known", known}}, *from), *to);

  EXPECT_TRUE(taken.at("known").is_same(known));
}

TEST(HandedTensors, KeepTheIntegersThatTheHostKnows) {
  TensorTable table(4);
  const auto from = delayed_device(0), to = delayed_device(1);
  const at::Tensor ids = at::arange(6);

  const TensorMap taken = take_over(table, hand_over(table, {{"ids", upload(ids, *from)}}, *from), *to);

  EXPECT_TRUE(kernels::host_values(taken.at("ids")).equal(ids));
}

}  // namespace
}  // namespace d9d
