// Ops of torch, forward and backward, with the bits of the CPU.
#include "runtime/devices/delayed/fallback.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

at::Tensor numbers(at::IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return at::arange(count, at::kFloat).mul(0.37).sin().view(sizes);
}

using Function = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

void expect_same_bits(const Function& f, const char* name) {
  const at::Device device = delayed_device(0)->place();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    machine(0).reseed(seed);
    const at::Tensor a = numbers({6, 8}), b = numbers({8, 5});
    const at::Tensor a_there = a.to(device), b_there = b.to(device);
    HostWaits::take();
    const at::Tensor there = f(a_there, b_there);
    EXPECT_TRUE(HostWaits::take().empty()) << name << " made the host wait";
    EXPECT_TRUE(there.cpu().equal(f(a, b))) << name << ", seed " << seed;
  }
}

TEST(DelayedFallback, GivesTheBitsOfTheCpu) {
  using T = const at::Tensor&;
  expect_same_bits([](T a, T b) { return at::matmul(a, b).add(1.5).mul(2); }, "matmul");
  expect_same_bits([](T a, T) { return at::softmax(a, -1).sum(0); }, "softmax");
  expect_same_bits([](T a, T b) { return at::cat({a.t(), b}, 1).exp(); }, "cat");
  expect_same_bits([](T a, T) { return at::stack({a, a.neg()}).amax({0, 2}); }, "stack");
  expect_same_bits([](T a, T) { return at::where(a > 0, a, a.square()).to(at::kBFloat16); }, "where");
  expect_same_bits(
      [](T a, T) { return at::zeros_like(a).index_copy_(0, at::arange(6, a.options().dtype(at::kLong)), a); },
      "index_copy_");
  expect_same_bits([](T a, T) { return a.clone().mul_(3).add_(a).sub_(1).relu_(); }, "in place");
  expect_same_bits([](T a, T) { return a.abs().log1p(); }, "abs");
  expect_same_bits([](T a, T b) { return a.select(0, 1).dot(b.select(1, 2)); }, "dot");
  // An op with two results that are arguments.
  expect_same_bits(
      [](T a, T) {
        const at::Tensor classes = at::arange(6, a.options().dtype(at::kLong));
        return at::cross_entropy_loss(a, classes, {}, at::Reduction::None, -100);
      },
      "cross_entropy_loss");
  expect_same_bits([](T a, T) { return at::full_like(a, 2).div(a.mean()); }, "full_like");
  expect_same_bits([](T a, T) { return a.lerp(a.square(), 0.25).addcmul(a, a, 2).addcdiv(a, a + 3); },
                   "lerp");
}

std::vector<at::Tensor> gradients_on(const at::Device& device) {
  const at::Tensor x = numbers({6, 8}).to(device, /*non_blocking=*/true).requires_grad_(true);
  const at::Tensor w = numbers({8, 5}).to(device, /*non_blocking=*/true).requires_grad_(true);
  at::Tensor y = at::matmul(x, w).tanh();
  y = y.view({3, 10}).narrow(1, 2, 6).clone();
  y.mul_(2);
  const at::Tensor loss = at::softmax(y, -1).square().mean();
  const bool threads = c10::AutogradState::get_tls_state().get_multithreading_enabled();
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  torch::autograd::backward({loss}, {});
  c10::AutogradState::get_tls_state().set_multithreading_enabled(threads);
  return {loss.detach(), x.grad(), w.grad()};
}

TEST(DelayedFallback, RunsAutogradOnTheCallersThreadWithTheBitsOfTheCpu) {
  const at::Device device = delayed_device(0)->place();
  const std::vector<at::Tensor> expected = gradients_on(at::kCPU);

  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    machine(0).reseed(seed);
    HostWaits::take();
    const std::vector<at::Tensor> actual = gradients_on(device);
    EXPECT_TRUE(HostWaits::take().empty());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(actual[i].cpu().equal(expected[i])) << i;
  }
}

TEST(DelayedFallback, CountsWaitsByTheOpThatAskedForThem) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor x = at::arange(5, at::kFloat).to(device);
  HostWaits::take();

  EXPECT_TRUE(at::nonzero(x).cpu().equal(at::nonzero(at::arange(5, at::kFloat))));
  EXPECT_EQ(x.sum().item<float>(), 10);
  EXPECT_TRUE(x.masked_select(x > 2).cpu().equal(at::arange(3, 5, at::kFloat)));
  EXPECT_TRUE(x.equal(x.clone()));

  const HostWaits::Counts expected{{{"", "aten::equal"}, 1},
                                   {{"", "aten::nonzero"}, 1},
                                   {{"", "aten::masked_select"}, 1},
                                   {{"", "copy_ to the host"}, 2},
                                   {{"", "item"}, 1}};
  EXPECT_EQ(HostWaits::take(), expected);
}

TEST(DelayedFallback, RefusesTensorsOfTheCpuByTheOpsName) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor there = at::ones({3, 3}, device), here = at::ones({3, 3});

  EXPECT_THROW(at::matmul(there, here).cpu(), c10::Error);
  EXPECT_TRUE(there.add(at::ones({})).cpu().equal(here.mul(2))) << "a number is none";
}

// As on a GPU: the call that finds it is not the one that made it.
TEST(DelayedFallback, TellsOfAnIndexThatIsTooLargeWhenTheHostWaits) {
  const at::Device device = delayed_device(0)->place();
  machine(0).reseed(5);
  const at::Tensor rows = at::ones({3, 3}, device), index = at::arange(5).to(device);

  const at::Tensor chosen = rows.index_select(0, index);

  EXPECT_THROW(chosen.cpu(), c10::Error);
  EXPECT_TRUE(rows.cpu().equal(at::ones({3, 3})));
}

}  // namespace
}  // namespace d9d::delayed
