#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing_job::changed;
using testing_job::error_of;
using testing_job::load;
using testing_job::qwen3_of;

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "config.json")
        << R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
      "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 600, "num_local_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 16, "norm_topk_prob": true, "torch_dtype": "bfloat16",
      "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 50000.0}})";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string from() const { return "model_provider={name: qwen3_moe, from: '" + folder_.string() + "'}"; }

  std::filesystem::path folder_;
};

TEST_F(ModelFolder, GivesTheArchitecture) {
  const Qwen3Config model = qwen3_of(load({from()}));

  EXPECT_EQ(model.hidden_size, 32);
  EXPECT_EQ(model.num_experts, 4);
  EXPECT_TRUE(model.norm_topk_prob);
  EXPECT_EQ(model.rope.theta, 50000.0);
  EXPECT_EQ(model.dtype, "float32");
}

TEST_F(ModelFolder, YieldsToTheKeysOfTheJob) {
  const Qwen3Config model =
      qwen3_of(load({from(), "model_provider.model={num_experts: 6, rope_theta: 1000, head_dim: 16}"}));

  EXPECT_EQ(model.num_experts, 6);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.rope.theta, 1000.0);
  EXPECT_EQ(model.rope.type, RopeOptions::Type::linear);
  EXPECT_EQ(load({from(), "model_provider.model.rope_scaling={rope_type: default}"}).model->rope.theta,
            50000.0);
}

TEST_F(ModelFolder, MustHoldAModelOfTheNamedFamily) {
  EXPECT_THAT(error_of({"model_provider={name: qwen3, from: '" + folder_.string() + "'}"}),
              HasSubstr("is a model of type \"qwen3_moe\", but model_provider.name is qwen3"));
  EXPECT_THAT(error_of({"model_provider={name: qwen3, from: /no/such}"}),
              HasSubstr("model_provider.from: cannot read /no/such/config.json"));
}

// What a family's own tokenizer calls its ends means another token in the tokenizer of the job.
TEST(ModelSection, HasNoSpecialTokensOfTheFamilyWhereNobodyNamesThem) {
  for (const char* family : {"llama", "mistral", "gemma3_text", "qwen2", "qwen3"}) {
    const std::string provider =
        std::string("model_provider={name: ") + family +
        ", model: {hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2, "
        "num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8, vocab_size: 600";

    const LoadedJob unsaid = load({provider + "}}"});
    const LoadedJob said = load({provider + ", pad_token_id: 5, bos_token_id: 6, eos_token_id: [7, 8]}}"});

    EXPECT_EQ(unsaid.model->pad_token_id, std::nullopt) << family << ": its row would get no gradient";
    EXPECT_EQ(unsaid.model->bos_token_id, std::nullopt) << family;
    EXPECT_TRUE(unsaid.model->eos_token_ids.empty()) << family;
    EXPECT_THAT(unsaid.model->config_json(), HasSubstr("\"eos_token_id\": null")) << family;
    EXPECT_EQ(said.model->pad_token_id, 5) << family;
    EXPECT_EQ(said.model->bos_token_id, 6) << family;
    EXPECT_EQ(said.model->eos_token_ids, (std::vector<std::int64_t>{7, 8})) << family;
  }
}

// In a folder of transformers 5 they stand apart; a key of the job replaces that part alone.
TEST(ModelSection, KeepsTheRopeOfEachLayerType) {
  const std::string folder = D9D_SOURCE_DIR "/tests/golden/gemma3_text/published";
  const auto window_theta = [](const LoadedJob& job) { return job.model->window_rope->theta; };
  const std::string provider =
      "model_provider={name: gemma3_text, from: '" + folder + "', model: {tie_word_embeddings: false";
  const std::string words = "data.vocab_size=61";

  const LoadedJob as_it_is = load({provider + "}}", words});
  const LoadedJob changed_full = load({provider + ", rope_theta: 1000}}", words});
  const LoadedJob changed_window = load({provider + ", rope_local_base_freq: 700}}", words});

  EXPECT_EQ(as_it_is.model->rope.theta, 40000.0);
  EXPECT_EQ(window_theta(as_it_is), 10000.0);
  EXPECT_EQ(changed_full.model->rope.theta, 1000.0);
  EXPECT_EQ(changed_full.model->rope.type, RopeOptions::Type::linear);
  EXPECT_EQ(window_theta(changed_full), 10000.0);
  EXPECT_EQ(changed_window.model->rope, as_it_is.model->rope);
  EXPECT_EQ(window_theta(changed_window), 700.0);
}

TEST(ModelSection, TakesHuggingFaceKeys) {
  const Qwen3Config model = qwen3_of(load());

  EXPECT_EQ(model.kind, Qwen3Kind::moe);
  EXPECT_EQ(model.hidden_size, 64);
  EXPECT_EQ(model.moe_intermediate_size, 32);
  EXPECT_EQ(model.rope.theta, 10000.0);
  EXPECT_FALSE(model.norm_topk_prob);
}

TEST(ModelSection, TakesTheOriginalsKeys) {
  const Qwen3Config model =
      qwen3_of(load({R"(model_provider={name: qwen3_moe, model: {layer: {hidden_size: 768,
    intermediate_size: 576, num_experts: 128, experts_top_k: 8, num_attention_heads: 16, num_key_value_heads: 4,
    rms_norm_eps: 1e-6, head_dim: 128}, num_hidden_layers: 16, rope_base: 1000000, max_position_ids: 128000,
    split_vocab_size: {regular: 151643, special: 26}, split_vocab_order: [regular, special],
    pipeline_num_virtual_layers_pre: 0, pipeline_num_virtual_layers_post: 1}})"}));

  EXPECT_EQ(model.moe_intermediate_size, 576);
  EXPECT_EQ(model.num_experts_per_tok, 8);
  EXPECT_TRUE(model.norm_topk_prob);
  EXPECT_EQ(model.vocab_size, 151669);
  EXPECT_THAT(model.vocabulary_parts,
              testing::ElementsAre(VocabularyPart{"regular", 151643}, VocabularyPart{"special", 26}));
  EXPECT_EQ(model.rope.theta, 1e6);
  EXPECT_EQ(model.max_position_embeddings, 128000);
  EXPECT_EQ(model.pipeline_num_virtual_layers_post, 1);
}

TEST(ModelSection, TakesEveryFamilyByItsName) {
  const std::string sizes =
      ", model: {hidden_size: 64, intermediate_size: 96, num_hidden_layers: 4, num_attention_heads: 4, "
      "num_key_value_heads: 2, vocab_size: 512}}";
  for (const std::string name : {"llama", "qwen2", "mistral"}) {
    const LoadedJob loaded = load({"model_provider={name: " + name + sizes});

    EXPECT_THAT(loaded.model->config_json(), HasSubstr("\"model_type\": \"" + name + "\""));
    EXPECT_EQ(loaded.model->attention().head_dim, 16);
  }
}

TEST(ModelSection, NamesTheLineOfAnImpossibleValue) {
  EXPECT_THAT(
      error_of({}, changed("num_key_value_heads: 2", "num_key_value_heads: 3")),
      HasSubstr("job.yaml:15:26: model_provider.model.num_attention_heads: num_attention_heads (4) is not a "
                "multiple of num_key_value_heads (3)"));
}

TEST(ModelSection, RefusesWhatItWouldHaveToIgnore) {
  EXPECT_THAT(error_of({"model_provider.model.hidden_act=gelu"}), HasSubstr("only silu is supported"));
  EXPECT_THAT(error_of({"model_provider.model.attention_dropout=0.1"}),
              HasSubstr("dropout is not supported"));
  EXPECT_THAT(error_of({"model_provider.model.rope_base=5", "model_provider.model.rope_theta=5"}),
              HasSubstr("means the same as rope_theta"));
  EXPECT_THAT(error_of({"model_provider.model.split_vocab_size={a: 3}"}),
              HasSubstr("given beside split_vocab_size"));
  EXPECT_THAT(
      error_of({"model_provider.model.split_vocab_size={a.b: 3}",
                "model_provider.model.split_vocab_order=[a.b]", "model_provider.model.vocab_size=null"}),
      HasSubstr("choose one without a dot"));
  EXPECT_THAT(error_of({}, changed("    hidden_size: 64\n    num_hidden_layers: 4\n", "")),
              HasSubstr("hidden_size, num_hidden_layers missing; add them"));
  EXPECT_THAT(error_of({"model_provider.dtype=float16"}), HasSubstr("float16 is not supported yet"));
}

}  // namespace
}  // namespace d9d
