#include "runtime/family/deepseek_v3/config.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/tensor/routed_stage.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* deepseek_v3_cases[] = {
    "latent_families/deepseek_v3", "latent_families/deepseek_v3_yarn", "latent_families/deepseek_v3_plain"};

const ConfigDocument<DeepseekV3Config> deepseek_v3({{"model_type", "deepseek_v3"},
                                                    {"hidden_size", 32},
                                                    {"intermediate_size", 48},
                                                    {"num_hidden_layers", 5},
                                                    {"vocab_size", 64},
                                                    {"num_attention_heads", 4}});

TEST(DeepseekV3Config, TakesTheDefaultsOfTransformers) {
  const auto model = deepseek_v3.parse();

  EXPECT_EQ(model->latent_attention().query_rank, 1536);
  EXPECT_EQ(model->latent_attention().head_dim(), 192);
  EXPECT_TRUE(model->rope.interleaved);
  EXPECT_EQ(model->moe().groups, 8);
  EXPECT_EQ(model->moe().kept_groups, 4);
  EXPECT_EQ(model->moe().score_factor, 2.5);
  EXPECT_EQ(model->moe().shared_intermediate_size, 2048);
  EXPECT_FALSE(model->is_sparse_layer(2));
  EXPECT_TRUE(model->is_sparse_layer(3));
  EXPECT_EQ(deepseek_v3.parse({{"q_lora_rank", nullptr}})->q_lora_rank, 0);
}

TEST(DeepseekV3Config, ScalesScoresOnceMoreWhereYarnSaysSo) {
  json yarn = {{"rope_type", "yarn"},
               {"rope_theta", 1e4},
               {"factor", 40.0},
               {"original_max_position_embeddings", 4096},
               {"mscale", 1.0}};
  const double plain = deepseek_v3.parse({{"rope_parameters", yarn}})->latent_attention().scale;
  yarn["mscale_all_dim"] = 1.0;

  const double scaled = deepseek_v3.parse({{"rope_parameters", yarn}})->latent_attention().scale;

  EXPECT_DOUBLE_EQ(plain, 1.0 / std::sqrt(192.0));
  EXPECT_DOUBLE_EQ(scaled, plain * std::pow(0.1 * std::log(40.0) + 1.0, 2));
}

TEST(DeepseekV3Config, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(deepseek_v3.error({{"v_head_dim", 193}}), HasSubstr("v_head_dim is 193"));
  EXPECT_THAT(deepseek_v3.error({{"scoring_func", "softmax"}}), HasSubstr("scoring_func"));
  EXPECT_THAT(deepseek_v3.error({{"topk_method", "greedy"}}), HasSubstr("topk_method"));
  EXPECT_THAT(deepseek_v3.error({{"moe_layer_freq", 2}}), HasSubstr("moe_layer_freq is 2"));
  EXPECT_THAT(deepseek_v3.error({{"n_group", 7}}), HasSubstr("n_group is 7"));
  EXPECT_THAT(deepseek_v3.error({{"topk_group", 1}, {"num_experts_per_tok", 33}}),
              HasSubstr("num_experts_per_tok is 33"));
  EXPECT_THAT(deepseek_v3.error({{"router_bias_update_rate", -0.1}}), HasSubstr("router_bias_update_rate"));
  EXPECT_THAT(deepseek_v3.error({{"output_router_logits", true}}), HasSubstr("output_router_logits"));
}

TEST(DeepseekV3Config, LeavesTheLayersOfMultiTokenPredictionInTheFolder) {
  const auto model = deepseek_v3.parse({{"num_nextn_predict_layers", 2}});
  const std::vector<std::string> unread =
      model->unread_tensors({"model.layers.5.eh_proj.weight", "model.layers.6.eh_proj.weight"});

  EXPECT_THAT(unread, Contains("model.layers.5.*"));
  EXPECT_THAT(unread, Contains("model.layers.6.*"));
  EXPECT_THAT(unread, Not(Contains("model.layers.7.*")));
  EXPECT_EQ(json::parse(model->config_json()).at("num_nextn_predict_layers"), 0);
}

TEST(DeepseekV3Config, ReadsBackWhatItWrites) {
  for (const char* name : deepseek_v3_cases) {
    const auto model = read_hugging_face_config(golden_folder(name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(dynamic_cast<const DeepseekV3Config&>(*again), dynamic_cast<const DeepseekV3Config&>(*model))
        << name;
  }
}

TEST(DeepseekV3Config, ExportsTheNamesThatItReads) {
  for (const char* name : deepseek_v3_cases) {
    const auto model = read_hugging_face_config(golden_folder(name));
    const MapperPtr out = model->to_hugging_face();

    const MapperPtr in = model->from_hugging_face(outputs_of(*out));

    EXPECT_EQ(inputs_of(*in), outputs_of(*out)) << name;
    EXPECT_EQ(outputs_of(*in), inputs_of(*out)) << name;
  }
}

// Three experts, of which the second got more tokens than the mean, the third as many.
TEST(DeepseekV3Config, MovesTheSelectionBiasAgainstTheLoad) {
  DeepseekV3Config model = *deepseek_v3.parse({{"num_hidden_layers", 1},
                                               {"first_k_dense_replace", 0},
                                               {"n_routed_experts", 3},
                                               {"num_experts_per_tok", 1},
                                               {"n_group", 1},
                                               {"topk_group", 1},
                                               {"moe_intermediate_size", 4},
                                               {"router_bias_update_rate", 0.25}});
  const auto stage = model.build_stage({}, {});
  auto& routed = dynamic_cast<RoutedStage&>(*stage);
  ASSERT_TRUE(routed.balances_load());

  routed.balance({{0, at::tensor({1, 5, 3}, at::kLong)}});

  const std::vector<StageBuffer> buffers = stage->buffers();
  ASSERT_EQ(buffers.size(), 1U);
  EXPECT_EQ(buffers[0].name, "model.layers.0.mlp.gate.e_score_correction_bias");
  EXPECT_TRUE(bitwise_equal(buffers[0].tensor, at::tensor({0.25F, -0.25F, 0.0F})));
}

TEST(DeepseekV3Config, CountsTheTokensOfAStepOnce) {
  const GoldenModel golden = golden_model(deepseek_v3_cases[0]);
  BuildOptions options;
  options.checkpoint_activations = true;
  const auto stage = stage_of(golden, {}, options);
  auto& routed = dynamic_cast<RoutedStage&>(*stage);

  const at::Tensor loss = stage->forward(golden.inputs, golden.labels).at("cross_entropy");
  run_backward(mean_loss(loss, golden.labels.at("labels")));

  ASSERT_EQ(routed.routed_tokens().size(), 2U);
  for (const auto& [layer, tokens] : routed.routed_tokens()) {
    EXPECT_EQ(tokens.sum().item<std::int64_t>(), 3 * golden.inputs.at("input_ids").numel()) << layer;
  }
  routed.end_step();
  EXPECT_EQ(routed.routed_tokens()[0].tokens.sum().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace d9d::test
