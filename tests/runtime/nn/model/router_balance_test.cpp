// The load balancing loss by its definition, and the same whoever has the tokens and the layers.
#include "runtime/nn/model/router_balance.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/family/qwen2_moe/config.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/tiny_decoder.hpp"

namespace d9d::test {
namespace {

TEST(RouterBalance, IsTheProductOfChoicesAndProbabilities) {
  const RouterBalance balance({.weight = 0.5, .z_weight = 0, .num_experts = 2, .layers = 3});
  // 4 tokens in 3 layers, one choice each.
  const at::Tensor sums =
      at::tensor({9.0, 3.0, 8.0, 4.0, 7.0, 7.0}, at::kDouble).view({3, 2}).requires_grad_(true);

  const at::Tensor loss = balance.loss(sums, 4, {});
  loss.backward();

  const double expected = 0.5 * 2 * (9.0 / 12 * 8 / 12 + 3.0 / 12 * 4 / 12);
  EXPECT_NEAR(loss.item<double>(), expected, 1e-12);
  EXPECT_NEAR(sums.grad()[1][0].item<double>(), 0.5 * 2 * 9.0 / 12 / 12, 1e-12);
  EXPECT_EQ(sums.grad()[0].abs().sum().item<double>(), 0);
}

TEST(RouterBalance, OfZIsTheMeanOfTheSquares) {
  const RouterBalance balance({.weight = 0, .z_weight = 0.25, .num_experts = 2, .layers = 3});
  const at::Tensor sums =
      at::tensor({9.0, 3.0, 8.0, 4.0, 7.5, 7.5}, at::kDouble).view({3, 2}).requires_grad_(true);

  const at::Tensor loss = balance.loss(sums, 4, {});
  loss.backward();

  EXPECT_NEAR(loss.item<double>(), 0.25 * 15.0 / 12, 1e-12);
  EXPECT_NEAR(sums.grad()[2][1].item<double>(), 0.25 / 12, 1e-12);
  EXPECT_EQ(sums.grad()[1].abs().sum().item<double>(), 0);
}

// Two of four tokens are there, in 3 layers, with two choices each: 12 choices.
TEST(RouterBalance, OfRowsThatAreFilledUpTakesTheNumberOfTokensFromTheirChoices) {
  const RouterBalance balance({.weight = 0.5, .z_weight = 0.25, .num_experts = 2, .layers = 3, .top_k = 2});
  const at::Tensor sums = at::tensor({9.0, 3.0, 4.0, 2.0, 7.5, 7.5}, at::kDouble).view({3, 2});

  const double loss = balance.loss(sums, std::nullopt, {}).item<double>();

  EXPECT_NEAR(loss, 0.5 * 2 * (9.0 / 6 * 4 / 6 + 3.0 / 6 * 2 / 6) + 0.25 * 15.0 / 6, 1e-12);
}

TEST(RouterBalance, OfNoTokenIsNothing) {
  const RouterBalance balance({.weight = 0.5, .z_weight = 0.25, .num_experts = 2, .layers = 3, .top_k = 2});

  EXPECT_EQ(balance.loss(at::zeros({3, 2}), std::nullopt, {}).item<float>(), 0);
}

TEST(RouterBalance, IsNotWantedWithoutLayersThatHaveExperts) {
  EXPECT_FALSE(RouterBalance({.weight = 1, .z_weight = 1, .num_experts = 2, .layers = 0}).wanted());
  EXPECT_TRUE(RouterBalance({.weight = 0, .z_weight = 1, .num_experts = 2, .layers = 1}).wanted());
}

// Three layers, one of them dense: a stage of a pipeline may have none with experts.
std::shared_ptr<Qwen2MoeConfig> balanced(double weight, std::int64_t dense_layer) {
  auto model = tiny_mixture<Qwen2MoeConfig>(3);
  model->mlp_only_layers = {dense_layer};
  model->router_aux_loss_coef = weight;
  model->router_z_loss_coef = 0.1 * weight;
  return model;
}

ParallelCase case_of(const DeviceMeshParameters& mesh, double weight = 2, std::int64_t dense_layer = 1) {
  const auto model = balanced(weight, dense_layer);
  ParallelCase given{.mesh = mesh, .batch = tiny_batch(*model), .microbatches = 2};
  given.other = model;
  return given;
}

TEST(RouterBalance, IsPartOfTheLossInTraining) {
  EXPECT_GT(train_once(case_of({}, 2)).loss, train_once(case_of({}, 0)).loss + 1);
}

// Without replicas, whose microbatches are other ones here: the loss is one of a microbatch. tests/e2e has them.
void expect_the_same_on_every_mesh(const std::function<ParallelCase(const DeviceMeshParameters&)>& make) {
  for (const DeviceMeshParameters& mesh :
       {DeviceMeshParameters{.tensor_parallel = 2}, DeviceMeshParameters{.context_parallel_shard = 2},
        DeviceMeshParameters{.context_parallel_shard = 2, .tensor_parallel = 2},
        DeviceMeshParameters{.pipeline_parallel = 3}}) {
    SCOPED_TRACE(::testing::Message() << "cp " << mesh.context_parallel_shard << ", tp "
                                      << mesh.tensor_parallel << ", pp " << mesh.pipeline_parallel);
    for (const bool checkpointed : {false, true}) {
      ParallelCase given = make(mesh);
      given.enable_checkpointing = checkpointed;
      expect_equal_training(given);
    }
  }
}

TEST(RouterBalance, IsTheSameOnEveryMesh) {
  expect_the_same_on_every_mesh([](const DeviceMeshParameters& mesh) { return case_of(mesh); });
}

// Rows of 3, 7, 11 ... tokens: some ranks hold nothing but what fills them up.
TEST(RouterBalance, OfRowsThatAreFilledUpIsTheSameOnEveryMesh) {
  const auto filled = [](const DeviceMeshParameters& mesh) {
    ParallelCase given = case_of(mesh);
    at::Tensor& labels = given.batch.at("labels");
    const at::Tensor ends = at::arange(labels.size(0)).mul(4).add(3).unsqueeze(1);
    const at::Tensor mask = at::lt(at::arange(labels.size(1)).unsqueeze(0), ends);
    given.batch["token_mask"] = mask;
    labels = labels.masked_fill(mask.logical_not(), -100);
    return given;
  };
  ParallelCase unmasked = filled({});
  unmasked.batch.erase("token_mask");
  EXPECT_GT(std::abs(train_once(unmasked).loss - train_once(filled({})).loss), 1e-3);
  expect_the_same_on_every_mesh(filled);
}

TEST(RouterBalance, BeginsAtTheFirstStageThatHasExperts) {
  expect_equal_training(case_of({.pipeline_parallel = 3}, 2, /*dense_layer=*/0));
}

}  // namespace
}  // namespace d9d::test
