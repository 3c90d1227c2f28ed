#include "runtime/nn/block/dropout.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/peft/lora.hpp"
#include "runtime/tensor/microbatch_scope.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"

namespace d9d::test {
namespace {

at::Tensor dropped(MicrobatchPlace place, std::string_view name = "q") {
  const MicrobatchScope scope(place);
  return dropout(at::ones({100, 101}), 0.25, name);
}

TEST(Dropout, SetsAShareToZeroAndKeepsTheMean) {
  const at::Tensor y = dropped({});

  EXPECT_NEAR(y.eq(0).to(at::kFloat).mean().item<double>(), 0.25, 0.02);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.03);
  EXPECT_FLOAT_EQ(y.max().item<float>(), 4.0F / 3);
}

TEST(Dropout, RepeatsAtItsPlaceAndNowhereElse) {
  const at::Tensor y = dropped({.seed = 1, .step = 2, .microbatch = 3});

  EXPECT_TRUE(at::equal(dropped({.seed = 1, .step = 2, .microbatch = 3}), y));
  EXPECT_FALSE(at::equal(dropped({.seed = 2, .step = 2, .microbatch = 3}), y));
  EXPECT_FALSE(at::equal(dropped({.seed = 1, .step = 3, .microbatch = 3}), y));
  EXPECT_FALSE(at::equal(dropped({.seed = 1, .step = 2, .microbatch = 4}), y));
  EXPECT_FALSE(at::equal(dropped({.seed = 1, .step = 2, .microbatch = 3}, "k"), y));
}

TEST(Dropout, GivesGradientsToWhatItKept) {
  const at::Tensor x = at::ones({3, 5}).requires_grad_();

  const at::Tensor y = d9d::dropout(x, 0.5, "q");  // not at::dropout, with "q" for true
  torch::autograd::backward({y.sum()}, {});

  EXPECT_TRUE(at::equal(x.grad(), y.detach()));
}

TEST(Dropout, LetsTheHostOfADeviceGoOn) {
  const auto device = delayed_device(0);
  const at::Tensor here = at::ones({100, 101}), there = upload(here, *device);
  HostWaits::take();

  const at::Tensor y = d9d::dropout(there, 0.25, "q");

  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_TRUE(at::equal(y.cpu(), d9d::dropout(here, 0.25, "q")));
}

LoraConfig with_dropout() {
  LoraConfig config = lora(".*q_proj");
  config.params.dropout = 0.5;
  return config;
}

TEST(LoraDropout, ChangesTheBranchWhileTrainingOnly) {
  const auto stage = adapted_stage(with_dropout());
  const auto loss = [&] { return stage->forward(tiny_inputs(), tiny_labels()).at("cross_entropy").detach(); };
  const auto plain = adapted_stage(lora(".*q_proj"));
  const at::Tensor expected = plain->forward(tiny_inputs(), tiny_labels()).at("cross_entropy").detach();

  EXPECT_FALSE(at::equal(loss(), expected));
  stage->set_training(false);
  EXPECT_TRUE(at::equal(loss(), expected));
}

}  // namespace
}  // namespace d9d::test
