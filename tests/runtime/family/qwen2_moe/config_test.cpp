#include "runtime/family/qwen2_moe/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::shared_ptr<SparseDecoder> parse_qwen2_moe(const json& change = json::object()) {
  json document = {{"model_type", "qwen2_moe"}, {"hidden_size", 32},
                   {"intermediate_size", 48},   {"num_hidden_layers", 3},
                   {"vocab_size", 64},          {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},  {"max_position_embeddings", 8}};
  document.update(change);
  return std::dynamic_pointer_cast<SparseDecoder>(parse_hugging_face_config(document.dump(), "config.json"));
}

std::string qwen2_moe_error(const json& change) {
  return test::error_of([&] { parse_qwen2_moe(change); }, ErrorKind::input);
}

TEST(Qwen2MoeConfig, TakesTheDefaultsOfTransformers) {
  const auto model = parse_qwen2_moe();

  EXPECT_EQ(model->num_experts, 60);
  EXPECT_EQ(model->moe().top_k, 4);
  EXPECT_FALSE(model->moe().renormalise);
  EXPECT_EQ(model->moe().intermediate_size, 1408);
  EXPECT_EQ(model->moe().shared_intermediate_size, 5632);
  EXPECT_TRUE(model->attention().qkv_bias);
  EXPECT_FALSE(model->attention().output_bias);
}

TEST(Qwen2MoeConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(qwen2_moe_error({{"attention_bias", true}}), HasSubstr("attention_bias"));
  EXPECT_THAT(qwen2_moe_error({{"mlp_only_layers", {3}}}), HasSubstr("mlp_only_layers names layer 3"));
  EXPECT_THAT(qwen2_moe_error({{"shared_expert_intermediate_size", 0}}),
              HasSubstr("shared_expert_intermediate_size is 0"));
}

}  // namespace
}  // namespace d9d::test
