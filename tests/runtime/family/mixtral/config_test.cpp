#include "runtime/family/mixtral/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

std::shared_ptr<SparseDecoder> parse_mixtral(const json& change = json::object()) {
  json document = {{"model_type", "mixtral"},  {"hidden_size", 32},
                   {"intermediate_size", 48},  {"num_hidden_layers", 3},
                   {"vocab_size", 64},         {"num_attention_heads", 4},
                   {"num_key_value_heads", 2}, {"max_position_embeddings", 8}};
  document.update(change);
  return std::dynamic_pointer_cast<SparseDecoder>(parse_hugging_face_config(document.dump(), "config.json"));
}

std::string mixtral_error(const json& change) {
  return test::error_of([&] { parse_mixtral(change); }, ErrorKind::input);
}

TEST(MixtralConfig, TakesTheDefaultsOfTransformers) {
  const auto model = parse_mixtral();

  EXPECT_EQ(model->num_experts, 8);
  EXPECT_EQ(model->moe().top_k, 2);
  EXPECT_TRUE(model->moe().renormalise);
  EXPECT_EQ(model->moe().intermediate_size, 48);
  EXPECT_EQ(model->moe().shared_intermediate_size, 0);
  EXPECT_EQ(model->rope.theta, 1e6);
  EXPECT_EQ(model->rms_norm_eps, 1e-5);
  EXPECT_EQ(model->eos_token_ids, std::vector<std::int64_t>{2});
}

TEST(MixtralConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(mixtral_error({{"router_jitter_noise", 0.1}}), HasSubstr("router_jitter_noise"));
  EXPECT_THAT(mixtral_error({{"num_experts", 4}, {"num_local_experts", 8}}), HasSubstr("they mean the same"));
  EXPECT_THAT(mixtral_error({{"router_z_loss_coef", -0.1}}), HasSubstr("router_z_loss_coef is -0.1"));
  EXPECT_THAT(mixtral_error({{"num_local_experts", 1}}), HasSubstr("the model has 1 expert;"));
}

TEST(MixtralConfig, FindsExpertsUnderAllTheirNames) {
  const auto model = parse_mixtral();
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
