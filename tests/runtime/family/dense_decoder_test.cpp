// config.json of the dense families: defaults, refusals, and back again.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ConfigDocument<> small(const std::string& type) {
  return ConfigDocument<>({{"model_type", type},
                           {"hidden_size", 32},
                           {"intermediate_size", 48},
                           {"num_hidden_layers", 3},
                           {"vocab_size", 64},
                           {"num_attention_heads", 4},
                           {"max_position_embeddings", 8},
                           {"sliding_window", nullptr}});
}

TEST(DenseFamilies, TakeTheDefaultsOfTransformers) {
  const auto llama = small("llama").parse();
  const auto qwen2 = small("qwen2").parse({{"num_key_value_heads", nullptr}});
  const auto mistral = small("mistral").parse({{"num_key_value_heads", 2}, {"head_dim", 6}});

  EXPECT_EQ(llama->attention().num_kv_heads, 4);
  EXPECT_EQ(llama->attention().head_dim, 8);
  EXPECT_FALSE(llama->attention().qkv_bias);
  EXPECT_EQ(nlohmann::json::parse(llama->config_json()).at("mlp_bias"), false);
  EXPECT_EQ(llama->eos_token_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(qwen2->attention().num_kv_heads, 4);
  EXPECT_TRUE(qwen2->attention().qkv_bias);
  EXPECT_FALSE(qwen2->attention().output_bias);
  EXPECT_TRUE(qwen2->eos_token_ids.empty());
  EXPECT_EQ(mistral->attention().head_dim, 6);
  EXPECT_FALSE(mistral->attention().qk_norm);
}

TEST(DenseFamilies, RefuseByNameWhatTheyDoNotCompute) {
  EXPECT_THAT(small("mistral").error({{"sliding_window", 0}}), HasSubstr("sliding_window is 0"));
  EXPECT_THAT(small("mistral").error({{"attention_bias", true}}), HasSubstr("attention_bias is true"));
  EXPECT_THAT(small("qwen2").error({{"attention_bias", false}}), HasSubstr("always has biases"));
  EXPECT_THAT(small("llama").error({{"intermediate_size", 0}}), HasSubstr("intermediate_size is 0"));
  const json longrope = {{"rope_type", "longrope"}, {"factor", 2.0}, {"short_factor", {1.0, 1.0, 1.0}}};
  EXPECT_THAT(small("llama").error({{"rope_parameters", longrope}}),
              HasSubstr("short_factor has 3 numbers, expected 4"));
  EXPECT_THAT(small("llama").error({{"architectures", {"LlamaForTokenClassification"}}}),
              HasSubstr("only LlamaForCausalLM"));
  EXPECT_THAT(small("falcon").error(),
              HasSubstr("expected one of qwen3_moe, qwen3, llama, qwen2, mistral, qwen2_moe, mixtral, "
                        "qwen3_next, deepseek_v3, gemma3_text, gpt_oss, modernbert"));
}

TEST(DenseFamilies, ReadBackWhatTheyWrite) {
  for (const char* name : {"llama", "llama_bias_tied", "llama_mlp_bias", "llama_longrope", "llama_dynamic",
                           "qwen2", "mistral", "mistral_window", "qwen2_window", "qwen3_window"}) {
    const auto model = read_hugging_face_config(golden_folder(std::string("dense_families/") + name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(static_cast<const FamilyModel&>(*again), static_cast<const FamilyModel&>(*model)) << name;
    EXPECT_EQ(again->config_json(), model->config_json()) << name;
  }
}

// MOD-37: transformers has no type ntk, so config.json gets the theta that turns alike.
TEST(DenseFamilies, ExportNtkAsTheThetaThatItIs) {
  const json ntk = {{"rope_type", "ntk"}, {"rope_theta", 10000.0}, {"factor", 3.0}};
  const auto model = small("llama").parse({{"head_dim", 8}, {"rope_parameters", ntk}});

  const json written = json::parse(model->config_json());

  EXPECT_EQ(written.at("rope_parameters").at("rope_type"), "default");
  EXPECT_TRUE(written.at("rope_scaling").is_null());
  EXPECT_DOUBLE_EQ(written.at("rope_theta").get<double>(), 10000.0 * std::pow(3.0, 8.0 / 6.0));
  EXPECT_EQ(parse_hugging_face_config(written.dump(), "again")->config_json(), model->config_json());
  EXPECT_THAT(small("llama").error({{"head_dim", 2}, {"rope_parameters", ntk}}),
              HasSubstr("rope_type ntk needs heads that turn in more than 2 dimensions"));
  EXPECT_THAT(small("llama").error({{"rope_parameters", {{"rope_type", "ntk"}}}}),
              HasSubstr("rope_type ntk needs `factor`"));
}

}  // namespace
}  // namespace d9d::test
