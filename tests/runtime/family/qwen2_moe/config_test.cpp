#include "runtime/family/qwen2_moe/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/family/config_document.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const auto qwen2_moe = small_sparse("qwen2_moe");

TEST(Qwen2MoeConfig, TakesTheDefaultsOfTransformers) {
  const auto model = qwen2_moe.parse();

  EXPECT_EQ(model->num_experts, 60);
  EXPECT_EQ(model->moe().top_k, 4);
  EXPECT_FALSE(model->moe().renormalise);
  EXPECT_EQ(model->moe().intermediate_size, 1408);
  EXPECT_EQ(model->moe().shared_intermediate_size, 5632);
  EXPECT_TRUE(model->attention().qkv_bias);
  EXPECT_FALSE(model->attention().output_bias);
}

TEST(Qwen2MoeConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(qwen2_moe.error({{"attention_bias", true}}), HasSubstr("attention_bias"));
  EXPECT_THAT(qwen2_moe.error({{"mlp_only_layers", {3}}}), HasSubstr("mlp_only_layers names layer 3"));
  EXPECT_THAT(qwen2_moe.error({{"shared_expert_intermediate_size", 0}}),
              HasSubstr("shared_expert_intermediate_size is 0"));
}

}  // namespace
}  // namespace d9d::test
