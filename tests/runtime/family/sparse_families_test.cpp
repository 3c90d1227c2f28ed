// Families with experts: defaults, refusals, config.json and back, and the names of their
// tensors in a folder.
#include "runtime/family/sparse_decoder.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

json small(const std::string& type) {
  return {{"model_type", type},       {"hidden_size", 32},
          {"intermediate_size", 48},  {"num_hidden_layers", 3},
          {"vocab_size", 64},         {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 8}};
}

std::shared_ptr<SparseDecoder> parse(json document, const json& change = json::object()) {
  document.update(change);
  return std::dynamic_pointer_cast<SparseDecoder>(parse_hugging_face_config(document.dump(), "config.json"));
}

std::string error_of(const json& document, const json& change) {
  try {
    parse(document, change);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

TEST(SparseFamilies, TakeTheDefaultsOfTransformers) {
  const auto mixtral = parse(small("mixtral"));
  const auto qwen2 = parse(small("qwen2_moe"));

  EXPECT_EQ(mixtral->num_experts, 8);
  EXPECT_EQ(mixtral->moe().top_k, 2);
  EXPECT_TRUE(mixtral->moe().renormalise);
  EXPECT_EQ(mixtral->moe().intermediate_size, 48);
  EXPECT_EQ(mixtral->moe().shared_intermediate_size, 0);
  EXPECT_EQ(mixtral->rope.theta, 1e6);
  EXPECT_EQ(mixtral->rms_norm_eps, 1e-5);
  EXPECT_EQ(mixtral->eos_token_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(qwen2->num_experts, 60);
  EXPECT_EQ(qwen2->moe().top_k, 4);
  EXPECT_FALSE(qwen2->moe().renormalise);
  EXPECT_EQ(qwen2->moe().intermediate_size, 1408);
  EXPECT_EQ(qwen2->moe().shared_intermediate_size, 5632);
  EXPECT_TRUE(qwen2->attention().qkv_bias);
  EXPECT_FALSE(qwen2->attention().output_bias);
}

TEST(SparseFamilies, KnowWhichLayersHaveExperts) {
  const auto model = parse(small("qwen2_moe"), {{"decoder_sparse_step", 1}, {"mlp_only_layers", {1}}});

  EXPECT_TRUE(model->is_sparse_layer(0));
  EXPECT_FALSE(model->is_sparse_layer(1));
  EXPECT_TRUE(model->is_sparse_layer(2));
}

TEST(SparseFamilies, RefuseByNameWhatTheyDoNotCompute) {
  EXPECT_THAT(error_of(small("mixtral"), {{"router_jitter_noise", 0.1}}), HasSubstr("router_jitter_noise"));
  EXPECT_THAT(error_of(small("mixtral"), {{"num_experts", 4}, {"num_local_experts", 8}}),
              HasSubstr("they mean the same"));
  EXPECT_THAT(error_of(small("mixtral"), {{"router_z_loss_coef", -0.1}}),
              HasSubstr("router_z_loss_coef is -0.1"));
  EXPECT_THAT(error_of(small("mixtral"), {{"num_local_experts", 1}}), HasSubstr("there are only 1 experts"));
  EXPECT_THAT(error_of(small("qwen2_moe"), {{"attention_bias", true}}), HasSubstr("attention_bias"));
  EXPECT_THAT(error_of(small("qwen2_moe"), {{"mlp_only_layers", {3}}}),
              HasSubstr("mlp_only_layers names layer 3"));
  EXPECT_THAT(error_of(small("qwen2_moe"), {{"shared_expert_intermediate_size", 0}}),
              HasSubstr("shared_expert_intermediate_size is 0"));
}

TEST(SparseFamilies, AddTheBalanceLossWhereItsLogitsAreWanted) {
  for (const char* type : {"mixtral", "qwen2_moe"}) {
    const json weight = {{"router_aux_loss_coef", 0.02}};
    EXPECT_EQ(parse(small(type), weight)->balance().weight, 0.0) << type;
    EXPECT_EQ(parse(small(type), {{"output_router_logits", true}})->balance().weight, 0.001) << type;
  }
  const auto model = parse(small("qwen2_moe"), {{"output_router_logits", true}, {"mlp_only_layers", {1}}});
  EXPECT_EQ(model->balance().layers, 2);
  EXPECT_EQ(model->balance().z_weight, 0.0);
  EXPECT_EQ(parse(small("mixtral"), {{"router_z_loss_coef", 0.1}})->balance().z_weight, 0.1);
  EXPECT_EQ(model->balance().num_experts, 60);
}

TEST(SparseFamilies, ReadBackWhatTheyWrite) {
  for (const char* name :
       {"mixtral", "mixtral_fused", "qwen2_moe", "qwen2_moe_mixed", "qwen2_moe_balanced", "mixtral_z_loss"}) {
    const auto model = read_hugging_face_config(golden_folder(std::string("sparse_families/") + name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(again->config_json(), model->config_json()) << name;
    EXPECT_EQ(dynamic_cast<const SparseDecoder&>(*again), dynamic_cast<const SparseDecoder&>(*model)) << name;
  }
}

TEST(SparseFamilies, ExportTheNamesThatTheyRead) {
  for (const char* name :
       {"mixtral", "qwen2_moe", "qwen2_moe_mixed", "qwen2_moe_balanced", "mixtral_z_loss"}) {
    const auto model = read_hugging_face_config(golden_folder(std::string("sparse_families/") + name));
    const MapperPtr out = model->to_hugging_face();

    const MapperPtr in = model->from_hugging_face(outputs_of(*out));

    EXPECT_EQ(inputs_of(*in), outputs_of(*out)) << name;
    EXPECT_EQ(outputs_of(*in), inputs_of(*out)) << name;
  }
}

TEST(SparseFamilies, FindMixtralsExpertsUnderAllTheirNames) {
  const auto model = parse(small("mixtral"));
  const std::string layer = "model.layers.0.";

  EXPECT_THAT(outputs_of(*model->to_hugging_face()),
              Contains(layer + "block_sparse_moe.experts.7.w2.weight"));
  EXPECT_THAT(inputs_of(*model->from_hugging_face({layer + "mlp.experts.0.w1.weight"})),
              Contains(layer + "mlp.experts.7.w3.weight"));
  EXPECT_THAT(inputs_of(*model->from_hugging_face({layer + "mlp.experts.gate_up_proj"})),
              Contains(layer + "mlp.experts.down_proj"));
  EXPECT_THAT(inputs_of(*model->from_hugging_face({layer + "block_sparse_moe.experts.gate_up_proj"})),
              Contains(layer + "block_sparse_moe.gate.weight"));
}

}  // namespace
}  // namespace d9d::test
