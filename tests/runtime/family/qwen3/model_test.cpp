#include "runtime/nn/model/causal_lm.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "kernels/graph/weight_work.hpp"
#include "runtime/base/error.hpp"
#include "runtime/tensor/tied.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using kernels::WeightWork;

struct Result {
  at::Tensor loss;
  TensorMap gradients;
};

Result train_once(const GoldenModel& golden, const BuildOptions& options) {
  const auto stage = stage_of(golden, {}, options);
  const at::Tensor loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");
  run_backward(mean_loss(loss, golden.labels.at("labels")));
  return {loss.detach(), gradients_of(*stage)};
}

void expect_equal(const Result& actual, const Result& expected) {
  EXPECT_TRUE(bitwise_equal(actual.loss, expected.loss));
  EXPECT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : actual.gradients) {
    EXPECT_TRUE(bitwise_equal(gradient, expected.gradients.at(name)))
        << name << " " << relative_difference(gradient, expected.gradients.at(name));
  }
}

Qwen3Config tied_over(int stages) {
  Qwen3Config config = golden_model("dense_tied").qwen3();
  config.num_hidden_layers = stages;
  return config;
}

TEST(Qwen3Model, SplitInTwoStagesComputesTheSame) {
  for (const char* name : {"moe", "dense_bias_yarn"}) {
    const GoldenModel golden = golden_model(name);
    const auto first = stage_of(golden, {0, 2});
    const auto last = stage_of(golden, {1, 2});

    const at::Tensor sent = first->forward(golden.inputs, {}).at("hidden_states");
    const at::Tensor received = sent.detach().requires_grad_();
    const at::Tensor loss = last->forward({{"hidden_states", received}}, golden.labels).at("cross_entropy");
    run_backward(mean_loss(loss, golden.labels.at("labels")));
    run_backward(sent, received.grad());

    Result split{loss.detach(), gradients_of(*first)};
    split.gradients.merge(gradients_of(*last));
    expect_equal(split, train_once(golden, {}));
  }
}

TEST(Qwen3Model, CheckpointedActivationsComputeTheSame) {
  for (const char* name : {"moe_mixed", "dense_tied"}) {
    const GoldenModel golden = golden_model(name);
    BuildOptions checkpointed;
    checkpointed.checkpoint_activations = true;

    expect_equal(train_once(golden, checkpointed), train_once(golden, {}));
  }
}

class DeferredWork : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checkpointed, DeferredWork, testing::Bool());

TEST_P(DeferredWork, GivesTheSameGradientsAfterItRan) {
  const GoldenModel golden = golden_model("moe");
  BuildOptions options;
  options.checkpoint_activations = GetParam();
  const auto stage = stage_of(golden, {}, options);
  const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  at::Tensor loss;
  {
    const WeightWork::Scope scope(work);
    loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");
  }

  run_backward(mean_loss(loss, golden.labels.at("labels")));

  EXPECT_EQ(gradients_of(*stage).at("model.layers.0.self_attn.q_proj.weight").abs().max().item<float>(),
            0.0F);
  EXPECT_GT(work->pending(), 0U);
  work->run_queued();
  expect_equal({loss.detach(), gradients_of(*stage)}, train_once(golden, {}));
}

TEST(Qwen3Model, ComputesInBfloat16NearFp32AndInFp64Nearer) {
  const GoldenModel golden = golden_model("dense_bias_yarn");
  const std::string name = "model.layers.1.self_attn.v_proj.weight";
  const auto differences = [&](at::ScalarType dtype) {
    BuildOptions options;
    options.dtype = dtype;
    const Result result = train_once(golden, options);
    return std::pair(relative_difference(result.loss, golden.expect.at("token_loss")),
                     relative_difference(result.gradients.at(name), golden.expect.at("grad." + name)));
  };

  const auto [half_loss, half_gradient] = differences(at::kBFloat16);
  const auto [double_loss, double_gradient] = differences(at::kDouble);

  EXPECT_LT(half_loss, 0.03);
  EXPECT_LT(half_gradient, 0.1);
  EXPECT_LT(double_loss, 3e-6);
  EXPECT_LT(double_gradient, 1e-5);
  EXPECT_THROW(differences(at::kHalf), Error);
}

TEST(Qwen3Model, OrdersParametersSoThatWeightsOfOneInputAreNeighbours) {
  const auto stage = golden_model("dense_bias_yarn").qwen3().build_stage({0, 2}, {});
  std::vector<std::string> names;
  for (const auto& p : stage->parameters()) names.push_back(p.name);

  const std::vector<std::string> expected = {"model.embed_tokens.weight",
                                             "model.layers.0.input_layernorm.weight",
                                             "model.layers.0.self_attn.q_proj.weight",
                                             "model.layers.0.self_attn.k_proj.weight",
                                             "model.layers.0.self_attn.v_proj.weight",
                                             "model.layers.0.self_attn.q_proj.bias",
                                             "model.layers.0.self_attn.k_proj.bias",
                                             "model.layers.0.self_attn.v_proj.bias",
                                             "model.layers.0.self_attn.o_proj.weight",
                                             "model.layers.0.self_attn.o_proj.bias",
                                             "model.layers.0.self_attn.q_norm.weight",
                                             "model.layers.0.self_attn.k_norm.weight",
                                             "model.layers.0.post_attention_layernorm.weight",
                                             "model.layers.0.mlp.gate_proj.weight",
                                             "model.layers.0.mlp.up_proj.weight",
                                             "model.layers.0.mlp.down_proj.weight"};
  EXPECT_EQ(names, expected);
}

TEST(Qwen3Model, RegistersEachParameterWithTorchUnderItsGlobalName) {
  const auto stage = golden_model("moe").qwen3().build_stage({}, {});
  auto& model = dynamic_cast<CausalLm&>(*stage);

  const auto registered = model.named_parameters();

  EXPECT_EQ(registered.size(), model.parameters().size());
  for (const auto& p : model.parameters()) EXPECT_TRUE(registered[p.name].is_same(p.tensor)) << p.name;
}

TEST(Qwen3Model, GivesLogitsForTheWantedPositionsOnly) {
  const GoldenModel golden = golden_model("moe");
  const auto stage = stage_of(golden);

  const at::Tensor last =
      stage->forward(golden.inputs, {{"logit_positions", at::tensor({36L})}}).at("logits");

  EXPECT_EQ(last.sizes(), (at::IntArrayRef{2, 1, 61}));
  EXPECT_LT(relative_difference(last, golden.expect.at("logits").narrow(1, 36, 1)), 1e-5);
}

TEST(Qwen3Model, TakesPositionsFromTheSharedTensors) {
  const GoldenModel golden = golden_model("dense_tied");
  const auto stage = stage_of(golden);
  const at::Tensor usual = at::arange(13, at::kLong).expand({2, 13});

  const at::Tensor same = stage->forward(golden.inputs, {{"position_ids", usual}}).at("logits");
  const at::Tensor stretched = stage->forward(golden.inputs, {{"position_ids", usual.mul(3)}}).at("logits");

  EXPECT_LT(relative_difference(same, golden.expect.at("logits")), 1e-5);
  EXPECT_GT(relative_difference(stretched, golden.expect.at("logits")), 1e-3);
}

TEST(Qwen3Model, CountsTheTokensOfEachExpertOnce) {
  const GoldenModel golden = golden_model("moe");
  BuildOptions options;
  options.checkpoint_activations = true;
  const auto stage = golden.qwen3().build_stage({}, options);
  auto& model = dynamic_cast<CausalLm&>(*stage);
  for (const auto& p : model.parameters()) p.tensor.detach().copy_(golden.weights.at(p.name));

  run_backward(model.forward(golden.inputs, golden.labels).at("cross_entropy").sum());

  auto* experts = dynamic_cast<MixtureOfExperts*>(&model.layers().at(1)->feed_forward());
  EXPECT_EQ(experts->expert_tokens().sum().item<std::int64_t>(), 2 * 37 * 2);
  experts->reset_expert_tokens();
  EXPECT_EQ(experts->expert_tokens().sum().item<std::int64_t>(), 0);
}

TEST(Qwen3Model, HoldsTiedEmbeddingsOnTheFirstAndTheLastStage) {
  const Qwen3Config config = tied_over(3);
  std::vector<std::optional<int>> copies;
  for (int stage = 0; stage < 3; ++stage) {
    for (const auto& p : config.build_stage({stage, 3}, {})->parameters()) {
      EXPECT_NE(p.name, "lm_head.weight");
      if (p.name == "model.embed_tokens.weight") copies.push_back(tied_copy(p.layout));
    }
  }

  EXPECT_EQ(copies, (std::vector<std::optional<int>>{0, 1}));
  for (const auto& p : config.build_stage({}, {})->parameters()) EXPECT_EQ(tied_copy(p.layout), std::nullopt);
}

TEST(Qwen3Model, NamesInputsItCannotUse) {
  const GoldenModel golden = golden_model("moe");
  const auto first = stage_of(golden, {0, 2});
  const auto last = stage_of(golden, {1, 2});

  EXPECT_THROW(first->forward({{"ids", golden.inputs.at("input_ids")}}, {}), Error);
  EXPECT_THROW(first->forward({{"input_ids", golden.inputs.at("input_ids").to(at::kInt)}}, {}), Error);
  EXPECT_THROW(last->forward(golden.inputs, {}), Error);
  EXPECT_THROW(first->forward(golden.inputs, {{"position_ids", at::arange(5, at::kLong).unsqueeze(0)}}),
               Error);
}

}  // namespace
}  // namespace d9d::test
