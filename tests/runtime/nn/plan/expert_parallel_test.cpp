// Experts on several ranks: the same training step, whoever gets the tokens.
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

struct Degrees {
  int ranks;
  int expert_parallel;
};

DeviceMeshParameters mesh_of(Degrees degrees) {
  return {.data_parallel_replicate = degrees.ranks, .expert_parallel = degrees.expert_parallel};
}

Qwen3Config with_experts(std::int64_t num_experts) {
  Qwen3Config model = tiny_qwen3(Qwen3Kind::moe);
  model.num_experts = num_experts;
  return model;
}

// Every token goes to experts 0 and 1, whatever it is: the
// router says 0 of everything, and ties go to the lower index.
TensorMap routers_that_favour_the_first(const Qwen3Config& model) {
  TensorMap weights;
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    weights["model.layers." + std::to_string(layer) + ".mlp.gate.weight"] =
        at::zeros({model.num_experts, model.hidden_size});
  }
  return weights;
}

class ExpertParallel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checkpointed, ExpertParallel, testing::Bool());

TEST_P(ExpertParallel, TrainsAsOneRankDoes) {
  const Qwen3Config model = with_experts(4);
  for (const Degrees degrees : {Degrees{2, 2}, Degrees{4, 2}, Degrees{4, 4}}) {
    SCOPED_TRACE(degrees.expert_parallel);
    expect_equal_training({.mesh = mesh_of(degrees),
                           .model = model,
                           .enable_checkpointing = GetParam(),
                           .batch = tiny_batch(model),
                           .microbatches = 2});
  }
}

TEST_P(ExpertParallel, TrainsAsOneRankDoesWithSeveralExpertsOnARank) {
  Qwen3Config model = with_experts(8);
  model.num_experts_per_tok = 3;
  expect_equal_training({.mesh = mesh_of({4, 4}),
                         .model = model,
                         .enable_checkpointing = GetParam(),
                         .batch = tiny_batch(model)});
}

TEST_P(ExpertParallel, RanksWithoutTokensTakePartAndHaveNoGradient) {
  const Qwen3Config model = with_experts(8);
  const ParallelCase given{.mesh = mesh_of({4, 4}),
                           .model = model,
                           .enable_checkpointing = GetParam(),
                           .batch = tiny_batch(model),
                           .weights = routers_that_favour_the_first(model)};

  expect_equal_training(given);
  const at::Tensor gradient = train_once(given).gradients.at("model.layers.1.mlp.experts.up_proj.weight");
  EXPECT_GT(gradient.narrow(0, 0, 2).abs().sum().item<double>(), 0);
  EXPECT_EQ(gradient.narrow(0, 2, 6).abs().sum().item<double>(), 0);
}

TEST(ExpertParallelPlan, LeavesDenseLayersOfAMixedModelAlone) {
  Qwen3Config model = with_experts(4);
  model.mlp_only_layers = {0};
  expect_equal_training({.mesh = mesh_of({2, 2}), .model = model, .batch = tiny_batch(model)});
}

TEST(ExpertParallelPlan, RefusesADegreeThatDoesNotDivideTheExperts) {
  const Qwen3Config model = with_experts(6);
  EXPECT_THAT(error_of(
                  [&] {
                    train_once({.mesh = mesh_of({4, 4}), .model = model, .batch = tiny_batch(model)});
                  },
                  ErrorKind::input),
              testing::HasSubstr("mesh.expert_parallel = 4"));
}

TEST(ExpertParallelPlan, RefusesADenseModel) {
  const Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  EXPECT_THROW(train_once({.mesh = mesh_of({2, 2}), .model = model, .batch = tiny_batch(model)}), Error);
}

}  // namespace
}  // namespace d9d::test
