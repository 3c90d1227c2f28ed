#include "runtime/family/mixtral/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/config_document.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const auto mixtral = small_sparse("mixtral");

TEST(MixtralConfig, TakesTheDefaultsOfTransformers) {
  const auto model = mixtral.parse();

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
  EXPECT_THAT(mixtral.error({{"router_jitter_noise", 0.1}}), HasSubstr("router_jitter_noise"));
  EXPECT_THAT(mixtral.error({{"num_experts", 4}, {"num_local_experts", 8}}), HasSubstr("they mean the same"));
  EXPECT_THAT(mixtral.error({{"router_z_loss_coef", -0.1}}), HasSubstr("router_z_loss_coef is -0.1"));
  EXPECT_THAT(mixtral.error({{"num_local_experts", 1}}), HasSubstr("the model has 1 expert;"));
}

TEST(MixtralConfig, FindsExpertsUnderAllTheirNames) {
  const auto model = mixtral.parse();
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
