// Layers that are computed again in backward, whatever they keep, have the bits of layers that keep everything.
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "runtime/nn/model/causal_lm.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using kernels::KeptKind;
using kernels::KeptKinds;

const KeptKinds everything{KeptKind::attention, KeptKind::linear, KeptKind::experts, KeptKind::exchange};

struct Step {
  at::Tensor loss;
  TensorMap gradients;
  std::vector<at::Tensor> expert_tokens;
};

Step step_of(const GoldenModel& golden, const BuildOptions& options) {
  const auto stage = stage_of(golden, {}, options);
  stage->set_training(true);
  Step step{stage->forward(golden.inputs, golden.labels).at("cross_entropy"), {}, {}};
  run_backward(mean_loss(step.loss, golden.labels.at("labels")));
  step.gradients = gradients_of(*stage);
  if (const auto* const model = dynamic_cast<const CausalLm*>(stage.get())) {
    for (const RoutedTokens& routed : model->routed_tokens()) step.expert_tokens.push_back(routed.tokens);
  }
  return step;
}

void expect_same_bits(const Step& step, const Step& expected) {
  EXPECT_TRUE(step.loss.equal(expected.loss));
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(step.gradients.at(name).equal(gradient)) << name;
  ASSERT_EQ(step.expert_tokens.size(), expected.expert_tokens.size());
  for (std::size_t i = 0; i < expected.expert_tokens.size(); ++i)
    EXPECT_TRUE(step.expert_tokens[i].equal(expected.expert_tokens[i])) << "tokens of each expert";
}

class SelectiveCheckpoint : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, SelectiveCheckpoint,
                         testing::Values("dense_tied", "dense_bias_yarn", "moe", "moe_mixed",
                                         "dense_families/llama_mlp_bias", "dense_families/qwen2_window",
                                         "dense_families/mistral", "dense_families/qwen3_both_ways",
                                         "sparse_families/mixtral", "sparse_families/qwen2_moe_mixed",
                                         "sparse_families/qwen2_moe_balanced", "latent_families/deepseek_v3",
                                         "latent_families/deepseek_v3_plain", "qwen3_next/mixed",
                                         "gemma3_text/capped", "modernbert/modernbert"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(SelectiveCheckpoint, HasTheBitsOfNoneWhateverItKeeps) {
  const GoldenModel golden = golden_model(GetParam());
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Step none = step_of(golden, {.dtype = dtype});
    for (const KeptKinds& keeps : {KeptKinds{}, KeptKinds{KeptKind::attention}, KeptKinds{KeptKind::linear},
                                   KeptKinds{KeptKind::experts}, everything}) {
      SCOPED_TRACE(testing::Message() << c10::toString(dtype) << " keeping " << keeps.size());
      expect_same_bits(
          step_of(golden, {.dtype = dtype, .checkpoint_activations = true, .checkpoint_keeps = keeps}), none);
    }
  }
}

// As on a device that orders equal scores another way the second time: github.com/pytorch/torchtitan/issues/1117.
TEST(SelectiveCheckpointOfExperts, GoesByTheChoiceOfTheFirstRunWhereItWasKept) {
  const GoldenModel golden = golden_model("latent_families/deepseek_v3");
  const Step none = step_of(golden, {});
  for (const KeptKinds& keeps : {KeptKinds{KeptKind::experts}, KeptKinds{KeptKind::exchange}}) {
    const auto stage = stage_of(golden, {}, {.checkpoint_activations = true, .checkpoint_keeps = keeps});
    stage->set_training(true);
    const at::Tensor loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");

    for (const StageBuffer& buffer : stage->buffers()) buffer.tensor.detach().neg_().sub_(0.5);
    run_backward(mean_loss(loss, golden.labels.at("labels")));

    expect_same_bits({loss, gradients_of(*stage), none.expert_tokens}, none);
  }
}

}  // namespace
}  // namespace d9d::test
