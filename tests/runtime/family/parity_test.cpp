// Against Hugging Face transformers; see origin.md in tests/golden/qwen3,
// qwen3_next, gemma3_text, modernbert and tests/golden/*_families. Cases with both_ways: Mod10, Mod30, Mod32.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

class FamilyParity : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, FamilyParity,
    testing::Values("dense_tied", "dense_bias_yarn", "moe", "moe_mixed", "dense_families/llama",
                    "dense_families/llama_bias_tied", "dense_families/llama_mlp_bias",  // MOD-41
                    "dense_families/qwen2", "dense_families/mistral", "dense_families/mistral_window",
                    "dense_families/qwen2_window", "dense_families/llama_longrope",
                    "dense_families/llama_longrope_short", "dense_families/llama_dynamic",
                    "dense_families/qwen3_window", "dense_families/llama_both_ways",
                    "dense_families/mistral_window_both_ways", "dense_families/qwen2_window_both_ways",
                    "dense_families/qwen3_both_ways", "gemma3_text/both_ways", "sparse_families/mixtral",
                    "sparse_families/mixtral_fused", "sparse_families/qwen2_moe",
                    "sparse_families/qwen2_moe_mixed", "sparse_families/qwen2_moe_balanced",
                    "sparse_families/mixtral_z_loss", "sparse_families/gpt_oss",
                    "sparse_families/gpt_oss_balanced", "sparse_families/gpt_oss_both_ways",
                    "latent_families/deepseek_v3", "latent_families/deepseek_v3_yarn",
                    "latent_families/deepseek_v3_plain", "qwen3_next/every_fourth", "qwen3_next/mixed",
                    "gemma3_text/published", "gemma3_text/capped", "folders/rope_yarn_equal",
                    "folders/rope_llama3_equal", "folders/rope_linear_below_1", "folders/rope_yarn_below_1",
                    "modernbert/modernbert", "modernbert/modernbert_full"),
    [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(FamilyParity, LogitsAreThoseOfTransformers) {
  const GoldenModel golden = golden_model(GetParam());
  const auto stage = stage_of(golden);

  const auto outputs = stage->forward(golden.inputs, {});

  EXPECT_LT(relative_difference(outputs.at("logits"), golden.expect.at("logits")), 1e-5);
}

TEST_P(FamilyParity, LossesAreThoseOfTransformers) {
  const GoldenModel golden = golden_model(GetParam());
  const auto stage = stage_of(golden);

  const at::Tensor loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");

  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_LT(relative_difference(loss, golden.expect.at("token_loss")), 1e-5);
  EXPECT_NEAR(mean_loss(loss, golden.labels.at("labels")).item<double>(),
              golden.expect.at("loss").item<double>(), 1e-6 * golden.expect.at("loss").item<double>());
}

TEST_P(FamilyParity, EveryGradientIsThatOfTransformers) {
  const GoldenModel golden = golden_model(GetParam());
  const auto stage = stage_of(golden);

  const at::Tensor loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");
  run_backward(mean_loss(loss, golden.labels.at("labels")));

  const TensorMap gradients = gradients_of(*stage);
  EXPECT_EQ(gradients.size() + 5, golden.expect.size());
  for (const auto& [name, gradient] : gradients) {
    EXPECT_LT(relative_difference(gradient, golden.expect.at("grad." + name)), 1e-4) << name;
  }
}

// The models above whose head is tied to the embedding, on two stages: each finds the gradient of its copy.
class TiedStagesParity : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, TiedStagesParity,
                         testing::Values("dense_tied", "moe_mixed", "dense_families/llama_bias_tied",
                                         "sparse_families/qwen2_moe_mixed", "qwen3_next/mixed",
                                         "modernbert/modernbert"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(TiedStagesParity, TheGradientsOfBothCopiesAddUpToThatOfTransformers) {
  const GoldenModel golden = golden_model(GetParam());
  ASSERT_TRUE(golden.model->tie_word_embeddings);
  const auto first = stage_of(golden, {0, 2});
  const auto last = stage_of(golden, {1, 2});

  const TensorMap sent = first->forward(golden.inputs, {});
  TensorMap received;
  for (const auto& [name, tensor] : sent) received[name] = tensor.detach().requires_grad_();
  const at::Tensor loss = last->forward(received, golden.labels).at("cross_entropy");
  run_backward(mean_loss(loss, golden.labels.at("labels")));
  std::vector<at::Tensor> outputs, gradients;
  for (const auto& [name, tensor] : sent) {
    outputs.push_back(tensor);
    gradients.push_back(received.at(name).grad());
  }
  torch::autograd::backward(outputs, gradients);

  TensorMap found = gradients_of(*first);
  for (const auto& [name, gradient] : gradients_of(*last)) {
    const auto [place, is_new] = found.try_emplace(name, gradient);
    EXPECT_EQ(is_new, name != "model.embed_tokens.weight") << name;
    if (!is_new) place->second = place->second + gradient;
  }
  EXPECT_EQ(found.size() + 5, golden.expect.size());
  for (const auto& [name, gradient] : found) {
    EXPECT_LT(relative_difference(gradient, golden.expect.at("grad." + name)), 1e-4) << name;
  }
}

}  // namespace
}  // namespace d9d::test
