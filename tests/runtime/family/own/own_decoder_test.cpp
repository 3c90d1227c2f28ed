// The family of examples/own_model, as a plugin brings it, against the modules of Hugging Face transformers; see
// tests/golden/own_model/origin.md.
#include "runtime/family/own/own_decoder.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <malloc.h>

#include <nlohmann/json.hpp>

#include "runtime/family/families.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/family/own/whole_family.hpp"
#include "runtime/job/reading/own_models.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

TensorMap through(const StateMapper& mapper, const TensorMap& all, const std::string& prefix = "") {
  TensorMap results;
  for (const StateGroup& group : mapper.groups()) {
    TensorMap inputs;
    for (const std::string& name : group.inputs) inputs[name] = all.at(prefix + name);
    results.merge(mapper.apply(inputs));
  }
  return results;
}

class OwnDecoderParity : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    if (find_family("parallel_moe") != nullptr) return;
    ModelRegistry registry("the example");
    d9d_register_models(registry);
  }
};
INSTANTIATE_TEST_SUITE_P(Cases, OwnDecoderParity, testing::Values("own_model/parallel", "own_model/balanced"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(OwnDecoderParity, LogitsAreThoseOfTransformersModules) {
  const GoldenModel golden = golden_model(GetParam());

  const auto outputs = stage_of(golden)->forward(golden.inputs, {});

  EXPECT_LT(relative_difference(outputs.at("logits"), golden.expect.at("logits")), 1e-5);
}

TEST_P(OwnDecoderParity, LossAndEveryGradientAreThoseOfTransformersModules) {
  for (const bool checkpointed : {false, true}) {
    SCOPED_TRACE(checkpointed);
    const GoldenModel golden = golden_model(GetParam());
    const auto stage = stage_of(golden, {}, {.checkpoint_activations = checkpointed});

    const at::Tensor losses = stage->forward(golden.inputs, golden.labels).at("cross_entropy");
    const at::Tensor loss = mean_loss(losses, golden.labels.at("labels"));
    run_backward(loss);

    EXPECT_LT(relative_difference(losses, golden.expect.at("token_loss")), 1e-5);
    const auto expected_loss = golden.expect.at("loss").item<double>();
    EXPECT_NEAR(loss.item<double>(), expected_loss, 1e-6 * expected_loss);
    const auto to_parameters =
        golden.model->folder_to_parameters(outputs_of(*golden.model->to_hugging_face()));
    const TensorMap expected = through(*to_parameters, golden.expect, "grad.");
    const TensorMap gradients = gradients_of(*stage);
    EXPECT_EQ(gradients.size(), expected.size());
    for (const auto& [name, gradient] : gradients)
      EXPECT_LT(relative_difference(gradient, expected.at(name)), 1e-4) << name;
  }
}

TEST_P(OwnDecoderParity, AFolderComesBackAsItWas) {
  const GoldenModel golden = golden_model(GetParam());
  const TensorMap stored = read_safetensors(golden_folder(GetParam()) + "/model.safetensors");

  require_whole_family(*golden.model, "parallel_moe");
  const TensorMap written = through(*golden.model->parameters_to_folder(), golden.weights);

  EXPECT_EQ(written.size(), stored.size());
  for (const auto& [name, tensor] : stored) EXPECT_TRUE(bitwise_equal(written.at(name), tensor)) << name;
}

// Some programs store the head that is tied a second time (meta-pytorch/torchtune pull request 1688).
TEST_F(OwnDecoderParity, ACopyOfATiedHeadIsLeftOut) {
  const auto golden = golden_model("own_model/balanced");
  Names stored = outputs_of(*golden.model->parameters_to_folder());
  ASSERT_FALSE(stored.contains("lm_head.weight"));
  stored.insert("lm_head.weight");

  EXPECT_THAT(golden.model->unread_in_folder(stored), testing::Contains("lm_head.weight"));
  EXPECT_FALSE(inputs_of(*golden.model->folder_to_parameters(stored)).contains("lm_head.weight"));
}

std::int64_t bytes_in_use() {
  const auto info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// As ModelCosts.EstimatesWhatForwardKeeps of the built-in families.
TEST_F(OwnDecoderParity, TheEstimateIsWhatForwardKeeps) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  at::set_num_threads(1);
  nlohmann::json keys = {
      {"model_type", "parallel_moe"}, {"vocab_size", 4096},           {"hidden_size", 256},
      {"intermediate_size", 512},     {"num_hidden_layers", 4},       {"num_attention_heads", 8},
      {"num_key_value_heads", 2},     {"moe_intermediate_size", 256}, {"head_dim", 32}};
  const auto model = parse_hugging_face_config(keys.dump(), "config.json");
  const auto stage = model->build_stage({0, 1}, {});
  draw_initial_weights(stage->parameters(), 1);
  const TensorMap inputs = {{"input_ids", at::arange(300, at::kLong).view({2, 150})}};
  const TensorMap labels = {{"labels", inputs.at("input_ids")}};
  stage->forward(inputs, labels);  // tables and other first-time memory

  const std::int64_t before = bytes_in_use();
  const auto outputs = stage->forward(inputs, labels);
  const std::int64_t kept = bytes_in_use() - before;

  const std::int64_t head = model->vocab_size * model->hidden_size * 4;
  const auto estimate = activation_bytes(*model, {}, 300, 4, false) + head;
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(estimate), 1.0, 0.05)
      << kept << " of " << estimate;
  EXPECT_EQ(count_parameters(*model, {}).total, [&] {
    std::int64_t built = 0;
    for (const StageParameter& parameter : stage->parameters()) built += parameter.tensor.numel();
    return built;
  }());
}

TEST_F(OwnDecoderParity, WithoutExpertsEveryLayerIsDense) {
  const auto golden = golden_model("own_model/parallel");
  auto& model = dynamic_cast<OwnDecoder&>(*golden.model);
  model.num_experts = 0;

  require_whole_family(model, "parallel_moe");

  EXPECT_EQ(outputs_of(*model.to_hugging_face()).count("model.layers.1.ffn.w1.weight"), 1U);
  EXPECT_EQ(model.folder_forms().size(), 1U);
}

TEST_F(OwnDecoderParity, HeadsAndPartsOfTheVocabularyKeepTheNames) {
  const auto golden = golden_model("own_model/parallel");
  golden.model->heads = {{"", ClassificationHead{.num_labels = 3}}};
  require_whole_family(*golden.model, "parallel_moe");
  EXPECT_TRUE(outputs_of(*golden.model->parameters_to_folder()).contains("score.weight"));

  golden.model->heads = {{"", EmbeddingHead{}}};
  require_whole_family(*golden.model, "parallel_moe");
  EXPECT_TRUE(outputs_of(*golden.model->parameters_to_folder()).contains("layers.1.ffn.experts.2.w3.weight"));

  golden.model->heads.clear();
  golden.model->vocabulary_parts = {{"words", 50}, {"special", 11}};
  require_whole_family(*golden.model, "parallel_moe");
}

}  // namespace
}  // namespace d9d::test
