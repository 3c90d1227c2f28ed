#include "runtime/family/modernbert/config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const ConfigDocument<ModernBertConfig> modernbert({{"model_type", "modernbert"}, {"num_hidden_layers", 7}});

TEST(ModernBertConfig, TakesTheDefaultsOfTransformers) {
  const auto model = modernbert.parse();

  EXPECT_EQ(model->vocab_size, 50368);
  EXPECT_TRUE(model->tie_word_embeddings && model->logit_bias && model->head_transform.wanted);
  EXPECT_FALSE(model->head_transform.bias);
  EXPECT_EQ(model->pad_token_id, 50283);
  EXPECT_EQ(model->rms_norm_eps, 1e-5);
  EXPECT_EQ(model->attention().head_dim, 64);
  EXPECT_EQ(model->attention().num_kv_heads, 12);
  EXPECT_FALSE(model->attention().causal);
  EXPECT_EQ(model->rope, RopeOptions{.theta = 160000});
  EXPECT_EQ(model->window_rope, RopeOptions{.theta = 1e4});
  EXPECT_EQ(model->windows.width, 64);
  EXPECT_EQ(model->windows.of_layer, std::vector<bool>({false, true, true, false, true, true, false}));
}

// The config.json of answerdotai/ModernBERT-base, by its keys.
TEST(ModernBertConfig, TakesThePublishedKeys) {
  const auto model = modernbert.parse({{"global_attn_every_n_layers", 3},
                                       {"global_rope_theta", 160000.0},
                                       {"local_rope_theta", 10000.0},
                                       {"local_attention", 128},
                                       {"layer_norm_eps", 1e-5},
                                       {"norm_eps", 1e-5},
                                       {"norm_bias", false},
                                       {"classifier_pooling", "mean"},
                                       {"position_embedding_type", "absolute"},
                                       {"gradient_checkpointing", false},
                                       {"architectures", {"ModernBertForMaskedLM"}}});

  const auto usual = modernbert.parse();
  EXPECT_EQ(model->rope, usual->rope);
  EXPECT_EQ(model->windows, usual->windows);
  EXPECT_EQ(model->classifier_pooling, "mean");
}

TEST(ModernBertConfig, TakesRopesOfBothGenerations) {
  const auto old = modernbert.parse({{"global_rope_theta", 3e5}, {"local_rope_theta", 500.0}});
  const auto recent = modernbert.parse({{"rope_parameters",
                                         {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 3e5}}},
                                          {"sliding_attention", {{"rope_theta", 500.0}}}}}});

  EXPECT_EQ(old->rope.theta, 3e5);
  EXPECT_EQ(old->window_rope, RopeOptions{.theta = 500});
  EXPECT_EQ(*recent, *old);
  EXPECT_EQ(modernbert.parse({{"local_rope_theta", nullptr}})->window_rope, RopeOptions{.theta = 160000});
}

TEST(ModernBertConfig, ReadsBackWhatItWrites) {
  for (const char* name :
       {"modernbert/modernbert", "modernbert/modernbert_padded", "modernbert/modernbert_full"}) {
    const auto model = read_hugging_face_config(golden_folder(name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(again->config_json(), model->config_json()) << name;
    EXPECT_EQ(dynamic_cast<const ModernBertConfig&>(*again), dynamic_cast<const ModernBertConfig&>(*model));
  }
}

TEST(ModernBertConfig, WritesTheKeysOfBothGenerations) {
  const json written =
      json::parse(read_hugging_face_config(golden_folder("modernbert/modernbert"))->config_json());

  EXPECT_EQ(written["model_type"], "modernbert");
  EXPECT_EQ(written["architectures"], json::array({"ModernBertForMaskedLM"}));
  EXPECT_EQ(written["global_attn_every_n_layers"], 3);
  EXPECT_EQ(written["layer_types"],
            json({"full_attention", "sliding_attention", "sliding_attention", "full_attention"}));
  EXPECT_EQ(written["rope_parameters"]["sliding_attention"]["rope_theta"], 1e4);
  EXPECT_EQ(written["local_attention"], 8);
  for (const char* key : {"is_causal", "rms_norm_eps", "num_key_value_heads", "head_dim", "sliding_window"})
    EXPECT_FALSE(written.contains(key)) << key;
}

TEST(ModernBertConfig, NamesWhatItDoesNotCompute) {
  EXPECT_THAT(modernbert.error({{"norm_bias", true}}), HasSubstr("norm_bias is true"));
  EXPECT_THAT(modernbert.error({{"hidden_activation", "relu"}}), HasSubstr("hidden_activation is 'relu'"));
  EXPECT_THAT(modernbert.error({{"classifier_activation", "silu"}}), HasSubstr("classifier_activation"));
  EXPECT_THAT(modernbert.error({{"mlp_dropout", 0.1}}), HasSubstr("mlp_dropout is 0.1"));
  EXPECT_THAT(modernbert.error({{"embedding_dropout", 0.1}}), HasSubstr("embedding_dropout is 0.1"));
  EXPECT_THAT(modernbert.error({{"attention_dropout", 0.1}}), HasSubstr("attention_dropout is 0.1"));
  EXPECT_THAT(modernbert.error({{"local_attention", 1}}), HasSubstr("no half reaches"));
  EXPECT_THAT(modernbert.error({{"global_attn_every_n_layers", 0}}), HasSubstr("global_attn_every_n_layers"));
  EXPECT_THAT(modernbert.error({{"hidden_size", 100}}), HasSubstr("no multiple of num_attention_heads"));
  EXPECT_THAT(modernbert.error({{"classifier_pooling", "max"}}), HasSubstr("expected cls or mean"));
  EXPECT_THAT(modernbert.error({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}}}),
              HasSubstr("rope_scaling is given"));
}

TEST(ModernBertConfig, RefusesAHeadForClassesThatTransformersWouldPoolOtherwise) {
  const auto model = modernbert.parse({{"classifier_pooling", "mean"}});
  model->heads = {{"", ClassificationHead{.num_labels = 2}}};

  EXPECT_THAT(error_of([&] { model->validate("job"); }, ErrorKind::input),
              HasSubstr("set model_provider.model.classifier_pooling: cls"));
}

}  // namespace
}  // namespace d9d::test
