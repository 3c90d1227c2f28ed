#include "runtime/family/qwen3_next/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/pattern.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const ConfigDocument<Qwen3NextConfig> qwen3_next({{"model_type", "qwen3_next"}, {"num_hidden_layers", 8}});

TEST(Qwen3NextConfig, TakesTheDefaultsOfTransformers) {
  const auto model = qwen3_next.parse();

  EXPECT_EQ(model->linear_layers, std::vector<bool>({true, true, true, false, true, true, true, false}));
  EXPECT_EQ(model->delta_net().keys(), 16 * 128);
  EXPECT_EQ(model->delta_net().values(), 32 * 128);
  EXPECT_EQ(model->delta_net().taps, 4);
  EXPECT_EQ(model->attention().head_dim, 256);
  EXPECT_EQ(model->attention().rotary_dim, 64);
  EXPECT_TRUE(model->attention().output_gate);
  EXPECT_TRUE(model->attention().zero_centered_norm);
  EXPECT_EQ(model->moe().num_experts, 512);
  EXPECT_EQ(model->moe().top_k, 10);
  EXPECT_TRUE(model->moe().renormalise);
  EXPECT_EQ(model->moe().shared_intermediate_size, 512);
}

TEST(Qwen3NextConfig, TakesTheShareOfAHeadThatTurnsFromEitherPlace) {
  EXPECT_EQ(qwen3_next.parse({{"partial_rotary_factor", 0.5}})->attention().rotary_dim, 128);
  EXPECT_EQ(
      qwen3_next.parse({{"rope_parameters", {{"partial_rotary_factor", 0.125}}}})->attention().rotary_dim,
      32);
}

TEST(Qwen3NextConfig, TakesTheLayersByTypeOrByInterval) {
  const json types = {{"num_hidden_layers", 2}, {"layer_types", {"full_attention", "linear_attention"}}};

  EXPECT_EQ(qwen3_next.parse(types)->linear_layers, std::vector<bool>({false, true}));
  EXPECT_EQ(qwen3_next.parse({{"num_hidden_layers", 4}, {"full_attention_interval", 2}})->linear_layers,
            std::vector<bool>({true, false, true, false}));
}

TEST(Qwen3NextConfig, ReadsBackWhatItWrites) {
  for (const char* name : {"qwen3_next/every_fourth", "qwen3_next/mixed"}) {
    const auto model = read_hugging_face_config(golden_folder(name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(again->config_json(), model->config_json()) << name;
    EXPECT_EQ(dynamic_cast<const Qwen3NextConfig&>(*again), dynamic_cast<const Qwen3NextConfig&>(*model));
  }
}

TEST(Qwen3NextConfig, WritesTheTensorsThatItReads) {
  for (const char* name : {"qwen3_next/every_fourth", "qwen3_next/mixed"}) {
    const auto model = read_hugging_face_config(golden_folder(name));
    Names parameters;
    for (const auto& parameter : model->build_stage({}, {})->parameters()) parameters.insert(parameter.name);

    EXPECT_EQ(inputs_of(*model->to_hugging_face()), parameters) << name;
    EXPECT_EQ(outputs_of(*model->from_hugging_face(outputs_of(*model->to_hugging_face()))), parameters)
        << name;
  }
}

TEST(Qwen3NextConfig, LeavesOutTheWeightsOfMultiTokenPrediction) {
  const auto patterns = qwen3_next.parse()->unread_tensors({});

  EXPECT_TRUE(matches_any("mtp.layers.0.mlp.experts.3.up_proj.weight", patterns));
  EXPECT_FALSE(matches_any("model.layers.0.linear_attn.A_log", patterns));
}

TEST(Qwen3NextConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(qwen3_next.error({{"use_sliding_window", true}}), HasSubstr("use_sliding_window"));
  EXPECT_THAT(qwen3_next.error({{"layer_types", {"linear_attention"}}}),
              HasSubstr("layer_types has 1 entries"));
  EXPECT_THAT(qwen3_next.error({{"num_hidden_layers", 1}, {"layer_types", {"sliding_attention"}}}),
              HasSubstr("layer_types names \"sliding_attention\""));
  EXPECT_THAT(qwen3_next.error({{"linear_num_value_heads", 24}}), HasSubstr("linear_num_value_heads (24)"));
  EXPECT_THAT(qwen3_next.error({{"linear_conv_kernel_dim", 0}}), HasSubstr("linear_conv_kernel_dim is 0"));
  EXPECT_THAT(qwen3_next.error({{"partial_rotary_factor", 1.5}}), HasSubstr("partial_rotary_factor is 1.5"));
  EXPECT_THAT(qwen3_next.error({{"head_dim", 12}}), HasSubstr("turns 3 of the 12 dimensions"));
}

TEST(Qwen3NextConfig, RefusesMeshesThatCannotShareItsHeadsOrItsStates) {
  const auto model = qwen3_next.parse({{"linear_num_key_heads", 2}});

  model->require_tensor_parallel(2);
  EXPECT_THAT(error_of([&] { model->require_tensor_parallel(4); }, ErrorKind::input),
              HasSubstr("2 linear key heads"));
  EXPECT_THAT(error_of([&] { model->require_context_parallel(2); }, ErrorKind::input),
              HasSubstr("context_parallel_shard"));
  qwen3_next.parse({{"full_attention_interval", 1}})->require_context_parallel(2);
}

}  // namespace
}  // namespace d9d::test
