#include "runtime/family/hugging_face_config.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json small_config(bool moe = false) {
  json out = {{"model_type", moe ? "qwen3_moe" : "qwen3"},
              {"architectures", {moe ? "Qwen3MoeForCausalLM" : "Qwen3ForCausalLM"}},
              {"hidden_size", 32},
              {"intermediate_size", 48},
              {"num_hidden_layers", 3},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"head_dim", 12},
              {"vocab_size", 64},
              {"max_position_embeddings", 128},
              {"rms_norm_eps", 1e-5}};
  if (moe) out.update({{"moe_intermediate_size", 8}, {"num_experts_per_tok", 2}, {"norm_topk_prob", true}});
  return out;
}

Qwen3Config parse_config(const json& document) {
  return dynamic_cast<const Qwen3Config&>(*parse_hugging_face_config(document.dump(), "config.json"));
}

std::string config_error(const json& document) {
  return test::error_of([&] { parse_config(document); }, ErrorKind::input);
}

TEST(HuggingFaceConfig, ReadsWhatTransformers4Writes) {
  json document = small_config(true);
  document.update({{"rope_theta", 1000000.0},
                   {"rope_scaling", nullptr},
                   {"num_experts", 6},
                   {"torch_dtype", "bfloat16"},
                   {"sliding_window", 4096},
                   {"use_sliding_window", false},
                   {"max_window_layers", 2},
                   {"mlp_only_layers", {1}},
                   {"transformers_version", "4.51.0"}});

  const Qwen3Config config = parse_config(document);

  EXPECT_EQ(config.rope.theta, 1000000.0);
  EXPECT_EQ(config.rope.type, RopeOptions::Type::plain);
  EXPECT_EQ(config.num_experts, 6);
  EXPECT_EQ(config.dtype, "bfloat16");
  EXPECT_FALSE(config.is_sparse_layer(1));
  EXPECT_TRUE(config.is_sparse_layer(2));
}

TEST(HuggingFaceConfig, ReadsWhatTransformers5Writes) {
  json document = small_config(true);
  document.update({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5000.0}}},
                   {"num_local_experts", 6},
                   {"dtype", "float16"},
                   {"eos_token_id", {1, 2}},
                   {"pad_token_id", nullptr},
                   {"sliding_window", nullptr},
                   {"transformers_version", "5.23.0"}});

  const Qwen3Config config = parse_config(document);

  EXPECT_EQ(config.rope.theta, 5000.0);
  EXPECT_EQ(config.num_experts, 6);
  EXPECT_EQ(config.dtype, "float16");
  EXPECT_EQ(config.eos_token_ids, (std::vector<std::int64_t>{1, 2}));
  EXPECT_FALSE(config.pad_token_id.has_value());
}

TEST(HuggingFaceConfig, ReadsRopeScalingOfBothGenerations) {
  json old = small_config();
  old.update({{"rope_theta", 1e6}, {"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}});
  json now = small_config();
  now["rope_parameters"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"rope_theta", 1e6}, {"original_max_position_embeddings", 128}};

  EXPECT_EQ(parse_config(old).rope, parse_config(now).rope);
  EXPECT_EQ(parse_config(old).rope.original_max_position_embeddings, 128);
}

// transformers 5.23: `rope_parameters.get("beta_slow") or 1`.
TEST(HuggingFaceConfig, TakesZeroForBetasOfYarnThatAreNotGiven) {
  json given = small_config(), without = small_config();
  without["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
  given["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 0}, {"beta_slow", 0}};

  EXPECT_EQ(parse_config(given).rope, parse_config(without).rope);
  EXPECT_EQ(parse_config(given).rope.beta_fast, 32.0);
  EXPECT_EQ(parse_config(given).rope.beta_slow, 1.0);
}

TEST(HuggingFaceConfig, SaysThatPythonsNumbersAreNoJson) {
  const auto error = [](const std::string& limit) {
    return test::error_of([&] {
      parse_hugging_face_config("{\"a\": \"\\\"NaN\", \"time_step_limit\": [0.0, " + limit + "]}",
                                "config.json");
    });
  };

  EXPECT_THAT(error("Infinity"),
              AllOf(HasSubstr("config.json: holds Infinity"), HasSubstr("remove the key")));
  EXPECT_THAT(error("-Infinity"), HasSubstr("holds Infinity"));
  EXPECT_THAT(error("NaN"), HasSubstr("holds NaN"));
  EXPECT_THAT(error("?"), HasSubstr("not a JSON object"));
}

TEST(HuggingFaceConfig, DefaultsTheHeadWidthByFamily) {
  json dense = small_config(), moe = small_config(true);
  dense.erase("head_dim");
  moe.erase("head_dim");

  EXPECT_EQ(parse_config(dense).head_dim, 128);
  EXPECT_EQ(parse_config(moe).head_dim, 8);
}

TEST(HuggingFaceConfig, RefusesWhatItWouldComputeDifferently) {
  const auto refused = [](bool moe, const json& change, const char* key) {
    json document = small_config(moe);
    document.update(change);
    EXPECT_THAT(config_error(document), AllOf(HasSubstr("config.json"), HasSubstr(key)));
  };
  refused(false, {{"layer_types", {"full_attention", "sliding_attention", "full_attention"}}}, "layer_types");
  refused(false, {{"hidden_act", "gelu"}}, "hidden_act is 'gelu'");
  refused(false, {{"attention_dropout", 0.1}}, "attention_dropout");
  refused(true, {{"router_aux_loss_coef", -1.0}}, "router_aux_loss_coef");
  refused(true, {{"router_z_loss_coef", -1.0}}, "router_z_loss_coef");
  refused(false, {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor");
  refused(false, {{"rope_scaling", {{"rope_type", "proportional"}, {"factor", 2.0}}}}, "'proportional'");
  refused(false, {{"rope_parameters", {{"full_attention", {{"rope_theta", 1.0}}}}}}, "layer type");
  refused(false, {{"architectures", {"Qwen3ForSequenceClassification"}}}, "Qwen3ForSequenceClassification");
  refused(false, {{"model_type", "falcon"}}, "falcon");
}

TEST(HuggingFaceConfig, Mod10ReadsAndWritesThatTokensSeeThoseAfterThem) {
  json both_ways = small_config();
  both_ways["is_causal"] = false;
  const Qwen3Config model = parse_config(both_ways), causal = parse_config(small_config());

  EXPECT_FALSE(model.causal || model.attention_of(0).causal);
  EXPECT_EQ(json::parse(model.config_json())["is_causal"], false);
  EXPECT_TRUE(causal.attention_of(0).causal);
  EXPECT_FALSE(json::parse(causal.config_json()).contains("is_causal"));
}

TEST(HuggingFaceConfig, AcceptsSettingsWithoutEffect) {
  json dense = small_config();
  dense.update({{"use_sliding_window", true}, {"max_window_layers", 3}, {"sliding_window", 16}});
  json moe = small_config(true);
  moe.update({{"output_router_logits", true}, {"router_aux_loss_coef", 0.0}, {"attention_dropout", 0}});
  dense.update({{"is_causal", true}, {"quantization_config", {{"quant_method", "fp8"}}}});

  EXPECT_NO_THROW(parse_config(dense));
  EXPECT_NO_THROW(parse_config(moe));
}

TEST(HuggingFaceConfig, NamesImpossibleValues) {
  const auto wrong = [](bool moe, const json& change, const char* text) {
    json document = small_config(moe);
    document.update(change);
    EXPECT_THAT(config_error(document), HasSubstr(text));
  };
  wrong(false, {{"num_key_value_heads", 3}},
        "num_attention_heads (4) is not a multiple of num_key_value_heads (3)");
  wrong(false, {{"head_dim", 11}}, "head_dim is 11");
  wrong(false, {{"hidden_size", "32"}}, "hidden_size is \"32\", expected an integer");
  wrong(false, {{"tie_word_embeddings", 1}}, "tie_word_embeddings is 1, expected true or false");
  wrong(true, {{"num_experts", 1}}, "but the model has 1 expert;");
  wrong(true, {{"num_experts", 6}, {"num_local_experts", 8}}, "they mean the same");
  wrong(true, {{"mlp_only_layers", {3}}}, "mlp_only_layers names layer 3");
  wrong(true, {{"decoder_sparse_step", 0}}, "decoder_sparse_step");
  wrong(false, {{"dtype", "int8"}}, "dtype is 'int8'");
  wrong(false, {{"pad_token_id", 64}}, "pad_token_id is 64");
  wrong(false, {{"pad_token_id", -65}}, "pad_token_id is");
  EXPECT_THROW(parse_hugging_face_config("{", "config.json"), Error);
}

// Before anything is counted or built.
TEST(HuggingFaceConfig, RefusesSizesThatNoModelHas) {
  const auto too_much = [](bool moe, const char* key, const json& value) {
    json document = small_config(moe);
    document[key] = value;
    EXPECT_THAT(config_error(document), HasSubstr(std::string(key) + " is ")) << value;
  };
  for (const json& huge : {json(std::int64_t{1} << 62), json(~std::uint64_t{0}), json(1e18)}) {
    for (const char* key :
         {"hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size", "num_attention_heads",
          "num_key_value_heads", "head_dim", "max_position_embeddings"})
      too_much(false, key, huge);
    for (const char* key : {"num_experts", "moe_intermediate_size", "num_experts_per_tok"})
      too_much(true, key, huge);
  }
  too_much(false, "num_hidden_layers", 1'000'000'000);
  too_much(false, "num_hidden_layers", 1'000'000);
  too_much(false, "hidden_size", 1 << 30);
  too_much(true, "num_experts", 1 << 30);
}

TEST(HuggingFaceConfig, HintsAtTheFamilyOfAnotherModelType) {
  json document = small_config();
  document.update({{"model_type", "kimi_k2"}, {"architectures", {"DeepseekV3ForCausalLM"}}});
  EXPECT_THAT(config_error(document),
              AllOf(HasSubstr("kimi_k2"), HasSubstr("set model_type to deepseek_v3")));
  document["architectures"] = {"LLaMAForCausalLM"};
  EXPECT_THAT(config_error(document), HasSubstr("set model_type to llama"));
}

TEST(HuggingFaceConfig, NamesTheTextModelOfAMultimodalOneThatIsNoFamilys) {
  const json document = {{"model_type", "qwen2_5_vl"}, {"text_config", {{"model_type", "qwen2_5_vl_text"}}}};

  EXPECT_THAT(config_error(document), AllOf(HasSubstr("'qwen2_5_vl'"), HasSubstr("\"qwen2_5_vl_text\"")));
}

TEST(HuggingFaceConfig, ReadsTheTextModelOfAMultimodalOne) {
  json text = small_config(), document;
  text.erase("architectures");
  document = {{"model_type", "some_vl"},     {"architectures", {"SomeVlForConditionalGeneration"}},
              {"torch_dtype", "bfloat16"},   {"eos_token_id", {3, 4}},
              {"tie_word_embeddings", true}, {"hidden_size", 7},
              {"text_config", text}};

  const Qwen3Config config = parse_config(document);

  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.dtype, "bfloat16");
  EXPECT_EQ(config.eos_token_ids, (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(config.tie_word_embeddings);
}

// Against transformers (tests/golden/tied_heads); `says`: "true", "false" or "absent".
void say_tied(json& config, const std::string& says) {
  if (says != "absent") config["tie_word_embeddings"] = says == "true";
}

TEST(HuggingFaceConfig, TiesTheHeadOfAMultimodalModelAsTransformersDoes) {
  std::ifstream file(std::string(D9D_SOURCE_DIR) + "/tests/golden/tied_heads/expect.json");
  const json rows = json::parse(file);
  EXPECT_GT(rows.size(), 40U);
  for (const json& row : rows) {
    for (const auto& [outer, by_text] : row["tied"].items()) {
      for (const auto& [inner, tied] : by_text.items()) {
        json text = small_config();
        text["model_type"] = row["text"];
        text.erase("architectures");
        say_tied(text, inner);
        json document = {{"model_type", row["model_type"]}, {"text_config", text}};
        say_tied(document, outer);
        EXPECT_EQ(parse_hugging_face_config(document.dump(), "config.json")->tie_word_embeddings, tied)
            << row["model_type"] << " says " << outer << ", its text_config " << inner;
      }
    }
  }
}

// transformers 5.23 ties nothing where the folder has both tensors with other values, and says so.
TEST(HuggingFaceConfig, LeavesAHeadThatTheFolderStoresApartUnlessTheConfigSaysTied) {
  const test::Scratch folder;
  PosixDisk disk;
  json document = {{"model_type", "mistral3"}, {"text_config", small_config()}};
  document["text_config"]["model_type"] = "mistral";
  document["text_config"].erase("architectures");
  const auto is_tied = [&] {
    write_text(disk, folder / "config.json", document.dump());
    return read_hugging_face_config(folder.path())->tie_word_embeddings;
  };
  const auto store = [&](const char* name) {
    write_text(disk, folder / "model.safetensors.index.json",
               json{{"weight_map", {{name, "model-1.safetensors"}}}}.dump());
  };

  EXPECT_TRUE(is_tied());
  store("language_model.model.embed_tokens.weight");
  EXPECT_TRUE(is_tied());
  store("language_model.lm_head.weight");
  EXPECT_FALSE(is_tied());
  document["tie_word_embeddings"] = true;
  EXPECT_TRUE(is_tied());
}

// Python's json refuses the mark, and transformers with it: "is not a valid JSON file".
TEST(HuggingFaceConfig, RefusesAByteOrderMark) {
  EXPECT_THAT(test::error_of(
                  [] { parse_hugging_face_config("\xEF\xBB\xBF" + small_config().dump(), "config.json"); }),
              HasSubstr("config.json begins with a byte order mark"));
}

TEST(HuggingFaceConfig, CountsANegativePadFromTheEndAsTorchDoes) {
  json document = small_config();
  document["pad_token_id"] = -1;
  document["torch_dtype"] = "torch.bfloat16";

  EXPECT_EQ(parse_config(document).pad_token_id, 63);
  EXPECT_EQ(parse_config(document).dtype, "bfloat16");
}

TEST(HuggingFaceConfig, ReadsBackWhatItWrites) {
  json document = small_config(true);
  document.update({{"num_experts", 6},
                   {"mlp_only_layers", {0}},
                   {"tie_word_embeddings", true},
                   {"eos_token_id", 9},
                   {"attention_bias", true},
                   {"pad_token_id", 4},
                   {"rope_parameters",
                    {{"rope_type", "yarn"},
                     {"factor", 2.0},
                     {"rope_theta", 1e6},
                     {"mscale", 0.7},
                     {"original_max_position_embeddings", 64}}}});
  const Qwen3Config config = parse_config(document);

  EXPECT_EQ(parse_config(json::parse(config.config_json())), config);
}

TEST(HuggingFaceConfig, SaysWhichFileCannotBeRead) {
  EXPECT_THAT(test::error_of([&] { read_hugging_face_config("/nonexistent/model"); }, ErrorKind::environment),
              HasSubstr("/nonexistent/model"));
}

TEST(HuggingFaceConfig, ThatIsAPipeIsNotWaitedFor) {
  const std::string path = testing::TempDir() + "d9d_config_pipe_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  const auto text = test::error_of([&] { read_hugging_face_config(path); }, ErrorKind::input);

  EXPECT_THAT(text, HasSubstr("not a regular file"));
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace d9d
