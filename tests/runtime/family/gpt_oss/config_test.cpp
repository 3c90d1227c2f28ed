#include "runtime/family/gpt_oss/config.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/nn/attention/rotary.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/config_document.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const ConfigDocument<GptOssConfig> gpt_oss({{"model_type", "gpt_oss"}, {"num_hidden_layers", 4}});

TEST(GptOssConfig, HasSinksBiasesAndClampedExpertsInEveryLayer) {
  const auto model = gpt_oss.parse({{"swiglu_limit", 5.0}});

  EXPECT_TRUE(model->attention().sinks && model->attention().qkv_bias && model->attention().output_bias);
  EXPECT_EQ(model->attention_of(2).window, 128);
  EXPECT_EQ(model->attention_of(3).window, 0);
  EXPECT_TRUE(model->is_sparse_layer(0) && model->is_sparse_layer(3));
  EXPECT_TRUE(model->moe().renormalise);
  EXPECT_EQ(model->moe().intermediate_size, 2880);
  EXPECT_EQ(model->moe().clamped.value().alpha, 1.702);
  EXPECT_EQ(model->moe().clamped.value().limit, 5.0);
  EXPECT_FALSE(gpt_oss.parse({{"attention_bias", false}})->attention().output_bias);
}

// vLLM rounded the range between which it stretches frequencies (its issue 27722); the published model does not.
// The two numbers are those of its pull request 28244. transformers 4 called the settings rope_scaling, and an engine
// that looked for rope_parameters alone had plain RoPE (TensorRT-Model-Connect, issue 399).
TEST(GptOssConfig, StretchesFrequenciesFromARangeThatIsNotRounded) {
  const double low = 8.092779115512402, high = 17.39802450158856;
  const json published = {{"rope_type", "yarn"}, {"factor", 32.0},
                          {"beta_fast", 32.0},   {"beta_slow", 1.0},
                          {"truncate", false},   {"original_max_position_embeddings", 4096}};
  const auto model = gpt_oss.parse({{"rope_theta", 150000}, {"rope_scaling", published}});

  const at::Tensor found = inverse_frequencies(model->rope, 64);

  for (std::int64_t pair = 0; pair < 32; ++pair) {
    const double plain = std::pow(150000.0, -static_cast<double>(pair) / 32);
    const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    const double expected = plain * (1 - stretched) + plain / 32 * stretched;
    EXPECT_NEAR(found[pair].item<double>(), expected, 1e-5 * expected) << pair;
  }
  EXPECT_EQ(gpt_oss.parse()->rope, model->rope) << "which is the default";
}

TEST(GptOssConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(gpt_oss.error({{"swiglu_limit", 0.0}}), HasSubstr("swiglu_limit is 0"));
  EXPECT_THAT(gpt_oss.error({{"swiglu_alpha", -1.0}}), HasSubstr("swiglu_alpha is -1"));
  EXPECT_THAT(gpt_oss.error({{"num_experts", 4}, {"num_local_experts", 8}}), HasSubstr("they mean the same"));
  EXPECT_THAT(gpt_oss.error({{"sliding_window", nullptr}}), HasSubstr("sliding_window is null"));
  EXPECT_THAT(gpt_oss.error({{"layer_types", {"full_attention"}}}), HasSubstr("layer_types has 1"));
  EXPECT_THAT(gpt_oss.error({{"hidden_act", "gelu"}}), HasSubstr("only silu"));
}

TEST(GptOssConfig, KnowsExpertsByTheirNamesInAFolderAlone) {
  const auto model = gpt_oss.parse();
  const std::string layer = "model.layers.3.mlp.", experts = layer + "experts.";

  for (const char* name : {"router.bias", "experts.gate_up_proj", "experts.gate_up_proj_bias",
                           "experts.down_proj", "experts.down_proj_bias"})
    EXPECT_THAT(outputs_of(*model->to_hugging_face()), Contains(layer + name));
  EXPECT_EQ(model->folder_forms().size(), 1U);
  const Names read = inputs_of(*model->from_hugging_face({experts + "gate_up_proj_blocks"}));
  EXPECT_THAT(read, Contains(experts + "down_proj_blocks"));
  EXPECT_THAT(read, Contains(experts + "down_proj_bias"));
}

}  // namespace
}  // namespace d9d::test
