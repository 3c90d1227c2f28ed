#include "runtime/family/gemma3_text/config.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const ConfigDocument<Gemma3TextConfig> gemma3_text({{"model_type", "gemma3_text"}, {"num_hidden_layers", 7}});

TEST(Gemma3TextConfig, TakesTheDefaultsOfTransformers) {
  const auto model = gemma3_text.parse();

  EXPECT_TRUE(model->tie_word_embeddings);
  EXPECT_EQ(model->pad_token_id, 0);
  EXPECT_EQ(model->bos_token_id, 2);
  EXPECT_EQ(model->eos_token_ids, std::vector<std::int64_t>{1});
  EXPECT_EQ(model->attention().head_dim, 256);
  EXPECT_EQ(model->attention().scale, 1.0 / 16);
  EXPECT_TRUE(model->attention().qk_norm && model->attention().zero_centered_norm);
  EXPECT_EQ(model->embedding_scale, std::sqrt(2304.0));
  EXPECT_EQ(model->logit_softcap, 0);
  EXPECT_EQ(model->rope, RopeOptions{.theta = 1e6});
  EXPECT_EQ(model->window_rope, RopeOptions{.theta = 1e4});
  EXPECT_EQ(model->windows.width, 4096);
  EXPECT_EQ(model->windows.of_layer, std::vector<bool>({true, true, true, true, true, false, true}));
}

TEST(Gemma3TextConfig, TakesRopesOfBothGenerations) {
  const json scaling = {{"rope_type", "linear"}, {"factor", 8.0}};
  json full = scaling;
  full["rope_theta"] = 3e5;

  const auto old =
      gemma3_text.parse({{"rope_theta", 3e5}, {"rope_scaling", scaling}, {"rope_local_base_freq", 500.0}});
  const auto recent = gemma3_text.parse(
      {{"rope_parameters", {{"full_attention", full}, {"sliding_attention", {{"rope_theta", 500.0}}}}}});

  EXPECT_EQ(old->rope.type, RopeOptions::Type::linear);
  EXPECT_EQ(old->rope.factor, 8.0);
  EXPECT_EQ(old->rope.theta, 3e5);
  EXPECT_EQ(old->window_rope, RopeOptions{.theta = 500});
  EXPECT_EQ(*recent, *old);
}

// transformers 5.23 leaves settings without a layer type aside and turns plainly.
TEST(Gemma3TextConfig, InAFolderHasRopesOfLayerTypes) {
  const TemporaryFolder folder;
  const auto read = [&](const json& ropes) {
    json config = json::parse(read_hugging_face_config(golden_folder("gemma3_text/capped"))->config_json());
    for (const char* key : {"rope_scaling", "rope_theta", "rope_local_base_freq"}) config.erase(key);
    config["rope_parameters"] = ropes;
    folder.write("config.json", config.dump());
    return read_hugging_face_config(folder.path())->rope;
  };
  const auto error = [&](const json& ropes) { return error_of([&] { read(ropes); }); };

  EXPECT_THAT(error({{"rope_type", "linear"}, {"factor", 8.0}}), HasSubstr("without a layer type"));
  EXPECT_THAT(error({{"rope_theta", 5e5}}), HasSubstr("put it under full_attention"));
  EXPECT_EQ(read({{"rope_type", "default"}}), RopeOptions{.theta = 1e6});
  EXPECT_EQ(read({{"full_attention", {{"rope_theta", 5e5}}}}).theta, 5e5);
}

TEST(Gemma3TextConfig, ReadsBackWhatItWrites) {
  for (const char* name : {"gemma3_text/published", "gemma3_text/capped"}) {
    const auto model = read_hugging_face_config(golden_folder(name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(again->config_json(), model->config_json()) << name;
    EXPECT_EQ(dynamic_cast<const Gemma3TextConfig&>(*again), dynamic_cast<const Gemma3TextConfig&>(*model));
  }
}

TEST(Gemma3TextConfig, WritesTheKeysOfBothGenerations) {
  const json written =
      json::parse(read_hugging_face_config(golden_folder("gemma3_text/published"))->config_json());

  EXPECT_EQ(written["rope_theta"], 40000.0);
  EXPECT_EQ(written["rope_local_base_freq"], 10000.0);
  EXPECT_EQ(written["rope_scaling"], json({{"rope_type", "linear"}, {"factor", 8.0}}));
  EXPECT_EQ(written["rope_parameters"]["full_attention"]["factor"], 8.0);
  EXPECT_EQ(written["rope_parameters"]["sliding_attention"],
            json({{"rope_type", "default"}, {"rope_theta", 10000.0}}));
  EXPECT_TRUE(written["query_pre_attn_scalar"].is_number_integer());
  EXPECT_FALSE(written.contains("hidden_act"));
}

TEST(Gemma3TextConfig, WritesTheTensorsThatItReads) {
  for (const char* name : {"gemma3_text/published", "gemma3_text/capped"}) {
    const auto model = read_hugging_face_config(golden_folder(name));
    Names parameters;
    for (const auto& parameter : model->build_stage({}, {})->parameters()) parameters.insert(parameter.name);

    EXPECT_EQ(inputs_of(*model->to_hugging_face()), parameters) << name;
    EXPECT_EQ(outputs_of(*model->from_hugging_face(outputs_of(*model->to_hugging_face()))), parameters)
        << name;
  }
}

TEST(Gemma3TextConfig, Mod10HalvesTheWindowThatReachesToBothSides) {
  const auto model = read_hugging_face_config(golden_folder("gemma3_text/both_ways"));

  EXPECT_FALSE(model->attention_of(0).causal);
  EXPECT_EQ(model->attention_of(0).window, 4);
  EXPECT_EQ(model->attention_of(1).window, 0);
  const json written = json::parse(model->config_json());
  EXPECT_EQ(written["use_bidirectional_attention"], true);
  EXPECT_EQ(written["sliding_window"], 8);
  EXPECT_FALSE(written.contains("is_causal"));
}

TEST(Gemma3TextConfig, RefusesByNameWhatItDoesNotCompute) {
  EXPECT_THAT(gemma3_text.error({{"attn_logit_softcapping", 50.0}}), HasSubstr("attn_logit_softcapping"));
  EXPECT_THAT(gemma3_text.error({{"use_bidirectional_attention", true}, {"is_causal", false}}),
              HasSubstr("use_bidirectional_attention is true and is_causal false"));
  EXPECT_THAT(gemma3_text.error({{"use_bidirectional_attention", true}, {"sliding_window", 1}}),
              HasSubstr("sliding_window is 1"));
  EXPECT_THAT(gemma3_text.error({{"hidden_activation", "gelu"}}),
              HasSubstr("hidden_activation is 'gelu', only gelu_pytorch_tanh"));
  EXPECT_THAT(gemma3_text.error({{"hidden_act", "silu"}}), HasSubstr("hidden_act is 'silu'"));
  EXPECT_THAT(gemma3_text.error({{"sliding_window", nullptr}}), HasSubstr("sliding_window is null"));
  EXPECT_THAT(gemma3_text.error({{"sliding_window_pattern", 0}}), HasSubstr("sliding_window_pattern is 0"));
  EXPECT_THAT(gemma3_text.error({{"query_pre_attn_scalar", 0}}), HasSubstr("query_pre_attn_scalar is 0"));
  EXPECT_THAT(gemma3_text.error({{"final_logit_softcapping", -1.0}}),
              HasSubstr("final_logit_softcapping is -1"));
  EXPECT_THAT(gemma3_text.error({{"architectures", {"Gemma3ForConditionalGeneration"}}}),
              HasSubstr("only Gemma3ForCausalLM"));
  const json scaled = {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 500.0}};
  EXPECT_THAT(gemma3_text.error({{"rope_parameters", {{"sliding_attention", scaled}}}}),
              HasSubstr("rope_parameters differ by layer type"));
}

}  // namespace
}  // namespace d9d::test
