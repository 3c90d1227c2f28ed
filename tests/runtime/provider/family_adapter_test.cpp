#include "runtime/provider/family_adapter.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/deepseek_v3/config.hpp"
#include "runtime/model_folder/adapter_contents.hpp"
#include "tests/runtime/provider/adapted_checkpoint.hpp"
#include "tests/runtime/task/head_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

TEST_F(AdaptedCheckpoint, AloneIsTheFileThatPeftSaved) {
  disk_.make_directories(folder_ / "adapter");

  started().export_adapter(disk_, *reader_, folder_ / "adapter");

  const TensorMap written = read_safetensors(folder_ / "adapter/adapter_model.safetensors");
  const TensorMap saved = read_safetensors(golden_folder("peft/moe") + "/adapter_model.safetensors");
  ASSERT_EQ(written.size(), saved.size());
  for (const auto& [name, tensor] : saved) EXPECT_TRUE(bitwise_equal(written.at(name), tensor)) << name;
  const auto config =
      nlohmann::json::parse(read_text(disk_, folder_ / "adapter/adapter_config.json", 1 << 20));
  EXPECT_EQ(config["target_modules"], nlohmann::json({"down_proj", "gate_proj", "q_proj", "up_proj"}));
}

TEST_F(AdaptedCheckpoint, IsNoAdapterWhereOtherParametersTrainThatItsFormatCannotHold) {
  const auto error_with = [&](const std::string& pattern) {
    const FamilyAdapter adapter = started(
        StackConfig{{{LoraConfig{adapted_modules, {.r = 2, .alpha = 3}, {}}, FullTuneConfig{pattern}}}});
    return error_of([&] { adapter.export_adapter(disk_, *reader_, folder_.path()); });
  };

  EXPECT_THAT(error_with(R"(model\.layers\.0\.self_attn\.q_proj)"),
              HasSubstr("model.layers.0.self_attn.q_proj.weight trains too, but has an adapter"));
  EXPECT_THAT(error_with(R"(.*experts.*)"), HasSubstr("trains too"));
}

constexpr const char* all_experts = R"(.*experts\..*_proj)";

// A golden folder of peft for a mixture of experts, whose target modules and parameters make peft find every factor.
struct MixtureCase {
  const char* name;
  const char* model;
  const char* pattern;

  friend void PrintTo(const MixtureCase& given, std::ostream* out) { *out << given.name; }
};

class AdapterOfAMixture : public testing::TestWithParam<MixtureCase> {
 protected:
  std::string folder() const { return golden_folder(std::string("peft/") + GetParam().name); }
  nlohmann::json golden_config() const {
    return nlohmann::json::parse(read_text(PosixDisk(), folder() + "/adapter_config.json", 1 << 20));
  }
  LoraConfig lora() const {
    const nlohmann::json config = golden_config();
    return {GetParam().pattern,
            {.r = config.at("r"), .alpha = config.at("lora_alpha"), .use_rslora = config.at("use_rslora")},
            folder()};
  }
};
INSTANTIATE_TEST_SUITE_P(Cases, AdapterOfAMixture,
                         testing::Values(MixtureCase{"beside_experts", "latent_families/deepseek_v3",
                                                     R"(.*\.(q_a_proj|(gate|up|down)_proj))"},
                                         MixtureCase{"unknown_experts", "sparse_families/qwen2_moe",
                                                     R"(.*\.(gate|up)_proj|.*shared_expert\.down_proj)"}),
                         [](const auto& info) { return info.param.name; });

TEST_P(AdapterOfAMixture, IsNamedSoThatPeftFindsEveryFactor) {
  const auto model = golden_model(GetParam().model).model;
  const auto stage = model->build_shapes();
  inject_peft_and_freeze(*stage, *make_peft_method(lora()));

  const AdapterContents contents =
      adapter_contents(*model, *stage, named_adapters(*model, lora_adapters(*stage)), "");

  const nlohmann::json written = nlohmann::json::parse(contents.config_json), golden = golden_config();
  for (const char* key : {"r", "lora_alpha", "lora_dropout", "use_rslora", "target_modules",
                          "target_parameters", "rank_pattern"})
    EXPECT_EQ(written.at(key), golden.at(key)) << key;
  ASSERT_EQ(written.at("alpha_pattern").size(), golden.at("alpha_pattern").size());
  for (const auto& [key, value] : golden.at("alpha_pattern").items())
    EXPECT_NEAR(written.at("alpha_pattern").at(key).get<double>(), value.get<double>(), 1e-12) << key;
}

TEST_P(AdapterOfAMixture, ComputesTheLogitsOfPeft) {
  const GoldenModel golden = golden_model(GetParam().model);
  const PosixDisk disk;
  const FamilyAdapter adapter(golden.model, lora(), golden_folder(GetParam().model), disk);
  const auto stage = stage_of(golden);
  adapter.adapt(*stage);
  adapter.check();
  adapter.load(stage->parameters());

  const TensorMap expect = read_safetensors(folder() + "/expect.safetensors");
  const auto outputs = stage->forward({{"input_ids", expect.at("input_ids")}}, {});

  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5);
}

std::string error_of_export(const FamilyModel& model, const std::string& pattern,
                            const LoraParameters& params) {
  const auto stage = model.build_shapes();
  inject_peft_and_freeze(*stage, *make_peft_method(LoraConfig{pattern, params, {}}));
  return error_of([&] { adapter_contents(model, *stage, named_adapters(model, lora_adapters(*stage)), ""); });
}

std::string error_of_export(const std::string& name, const std::string& pattern,
                            const LoraParameters& params) {
  return error_of_export(*golden_model(name).model, pattern, params);
}

TEST(AdapterOfExperts, IsRefusedWherePeftCannotReadIt) {
  const LoraParameters plain{.r = 2, .alpha = 3};

  for (const char* name : {"moe", "sparse_families/qwen2_moe", "latent_families/deepseek_v3"})
    EXPECT_THAT(
        error_of_export(name, R"(.*experts\.(gate|down)_proj)", plain),
        testing::AllOf(HasSubstr("experts.0.gate_proj has an adapter without the expert's up projection"),
                       HasSubstr("export_to")))
        << name;
  EXPECT_THAT(error_of_export("latent_families/deepseek_v3", R"(.*layers\.0\.mlp\..*_proj)",
                              {.r = 2, .alpha = 3, .use_dora = true}),
              HasSubstr("which peft 0.21 cannot read"));
  EXPECT_EQ(error_of_export("latent_families/deepseek_v3", R"(.*shared_experts\.gate_proj)", plain),
            "no error");
}

// The base's e_score_correction_bias would stay with the folder that holds none.
TEST(AdapterOfAttention, IsRefusedWhereTrainingMovesTheRoutersBiases) {
  auto model = dynamic_cast<const DeepseekV3Config&>(*golden_model("latent_families/deepseek_v3").model);
  const auto error_at = [&](double rate) {
    model.router_bias_update_rate = rate;
    return error_of_export(model, R"(.*self_attn\.o_proj)", {.r = 2, .alpha = 3});
  };

  EXPECT_THAT(error_at(0.01),
              testing::AllOf(HasSubstr("router_bias_update_rate: 0"), HasSubstr("export_to")));
  EXPECT_EQ(error_at(0), "no error");
}

TEST(AdapterOfExperts, ThatAFolderHasInOneTensorTrainsToBeMergedAlone) {
  const std::string name = "sparse_families/gpt_oss", folder = golden_folder(name);
  const auto model = golden_model(name).model;
  const PosixDisk disk;
  const auto adapter = [&](std::optional<std::string> from) {
    return FamilyAdapter(model, LoraConfig{all_experts, {.r = 2, .alpha = 3}, from}, folder, disk);
  };
  const auto stage = model->build_shapes();
  adapter({}).adapt(*stage);

  EXPECT_THAT(adapter({}).check(), testing::IsEmpty());
  EXPECT_THAT(error_of([&] { named_adapters(*model, lora_adapters(*stage)); }),
              testing::AllOf(HasSubstr("model.layers.0.mlp.experts.gate_up_proj is no matrix of a module"),
                             HasSubstr("merge it (export_to)")));
  EXPECT_THAT(error_of([&] { adapter(golden_folder("peft/moe")).check(); }), HasSubstr("is no matrix"));
}

// A classifier on the body of a language model, as peft saved it: a new head and a norm beside the adapters.
class ClassifierAdapter : public Heads {
 protected:
  static std::string golden() { return golden_folder("peft/classifier"); }
  static std::string base() { return golden_folder("dense_bias_yarn"); }
  static LoraConfig lora(std::optional<std::string> from) {
    return {R"(.*\.(q_proj|down_proj))", {.r = 4, .alpha = 8}, std::move(from)};
  }
  FamilyAdapter adapter(const PeftConfig& config) const {
    return {model_with("dense_bias_yarn", classifier), config, base(), disk_};
  }
  static std::vector<std::string> trained(StageModule& stage) {
    std::vector<std::string> names;
    for (const StageParameter& parameter : stage.parameters()) {
      if (parameter.tensor.requires_grad() && !parameter.of_adapter) names.push_back(parameter.name);
    }
    return names;
  }
  std::unique_ptr<StageModule> started(const FamilyAdapter& adapter) const {
    const auto model = model_with("dense_bias_yarn", classifier);
    auto stage = model->build_stage({}, {});
    adapter.adapt(*stage);
    std::vector<StageParameter> stored;
    for (const StageParameter& parameter : stage->parameters()) {
      if (!parameter.of_adapter && parameter.name != "score.weight") stored.push_back(parameter);
    }
    load_hugging_face_weights(disk_, base(), *model, {}, stored);
    adapter.load(stage->parameters());
    return stage;
  }
};

TEST_F(ClassifierAdapter, TrainsTheHeadThatItsFolderLacksAndSaysSo) {
  const FamilyAdapter adapter = this->adapter(lora({}));
  const auto stage = model_with("dense_bias_yarn", classifier)->build_stage({}, {});

  adapter.adapt(*stage);

  EXPECT_THAT(trained(*stage), testing::ElementsAre("score.weight"));
  EXPECT_THAT(adapter.check(), testing::ElementsAre(HasSubstr("has no score.weight")));
}

TEST(TiedHead, OfAPatternIsSaidToHaveNoModule) {
  const PosixDisk disk;
  const std::string folder = golden_folder("dense_tied");
  const FamilyAdapter adapter(golden_model("dense_tied").model,
                              LoraConfig{"lm_head|.*q_proj|model.embed_tokens", {.r = 2, .alpha = 4}, {}},
                              folder, disk);

  EXPECT_THAT(
      adapter.check(),
      testing::ElementsAre(HasSubstr("matches lm_head as well, but the head is the embedding's matrix"),
                           HasSubstr("matches model.embed_tokens as well, but only linear layers")));
}

// LlamaFactory 6277: a vocabulary that grew beside an adapter, and new tokens that the model cannot tell apart.
TEST(NewRowsBesideAdapters, AreNamedWhereTheyDoNotTrain) {
  const PosixDisk disk;
  const std::string folder = golden_folder("dense_tied");
  const GoldenModel golden = golden_model("dense_tied");
  golden.model->vocab_size += 3;
  const LoraConfig lora{".*q_proj", {.r = 2, .alpha = 4}, {}};
  const auto said = [&](const PeftConfig& config) {
    return FamilyAdapter(golden.model, config, folder, disk).check();
  };

  EXPECT_THAT(said(lora), testing::ElementsAre(
                              HasSubstr("the new rows of model.embed_tokens.weight stay as they begin")));
  EXPECT_THAT(said(StackConfig{{{lora, FullTuneConfig{"model.embed_tokens"}}}}), testing::IsEmpty());
}

TEST_F(ClassifierAdapter, MayBeToldToLeaveTheHeadAlone) {
  const FamilyAdapter adapter = this->adapter(StackConfig{{{lora({}), FreezeConfig{"score"}}}});
  const auto stage = model_with("dense_bias_yarn", classifier)->build_stage({}, {});

  adapter.adapt(*stage);

  EXPECT_THAT(trained(*stage), testing::IsEmpty());
}

TEST_F(ClassifierAdapter, GoesOnFromWhatPeftSavedWithTheSameClasses) {
  const FamilyAdapter adapter = this->adapter(lora(golden()));
  EXPECT_NO_THROW(adapter.check());

  const auto stage = started(adapter);

  EXPECT_THAT(trained(*stage), testing::UnorderedElementsAre("score.weight", "model.norm.weight"));
  const TensorMap expect = read_safetensors(golden() + "/expect.safetensors");
  const auto outputs =
      stage->forward({{"input_ids", expect.at("input_ids")}}, {{"pooling_mask", expect.at("pooling_mask")}});
  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5);
}

TEST_F(ClassifierAdapter, IsSavedAsPeftSavesIt) {
  const FamilyAdapter adapter = this->adapter(lora(golden()));
  const auto stage = started(adapter);
  std::vector<NamedSlice> slices;
  for (const StageParameter& parameter : stage->parameters()) {
    if (!parameter.tensor.requires_grad()) continue;
    const Shape shape = parameter.tensor.sizes().vec();
    slices.push_back({"param", parameter.name, shape, whole(shape), parameter.tensor.detach()});
  }
  disk_.make_directories(folder_ + "/tmp");
  const ShardReport report = ShardWriter(disk_).write(folder_ + "/tmp", "0", slices);
  commit_checkpoint(disk_, folder_ + "/tmp", folder_ + "/save-1", with_reports({.step = 1}, {report}));
  disk_.make_directories(folder_ + "/adapter");

  adapter.export_adapter(disk_, *CheckpointReader::open(disk_, folder_ + "/save-1"), folder_ + "/adapter");

  const TensorMap written = read_safetensors(folder_ + "/adapter/adapter_model.safetensors");
  const TensorMap saved = read_safetensors(golden() + "/adapter_model.safetensors");
  ASSERT_EQ(written.size(), saved.size());
  for (const auto& [name, tensor] : saved) EXPECT_TRUE(bitwise_equal(written.at(name), tensor)) << name;
  const auto config =
      nlohmann::json::parse(read_text(disk_, folder_ + "/adapter/adapter_config.json", 1 << 20));
  EXPECT_EQ(config["task_type"], "SEQ_CLS");
  EXPECT_THAT(config["modules_to_save"].get<std::vector<std::string>>(),
              testing::UnorderedElementsAre("score", "model.norm"));
}

}  // namespace
}  // namespace d9d::test
