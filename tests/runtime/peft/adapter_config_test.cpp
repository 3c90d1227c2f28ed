#include "runtime/peft/adapter_config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<NamedAdapter> named(const PeftConfig& config) {
  const auto mapper = tiny_mixture().to_hugging_face();
  std::vector<NamedAdapter> adapters;
  for (const LoraAdapter& adapter : lora_adapters(*adapted_stage(config))) {
    adapters.push_back({adapter, modules_of(*mapper, adapter.weight)});
  }
  return adapters;
}

json written(const PeftConfig& config, const std::vector<std::string>& others = {}) {
  return json::parse(adapter_config_json(named(config), others, "base", {.takes_projections = true}));
}

TEST(AdapterConfig, NamesModulesByTheirLastNameWhereAllHaveAdapters) {
  const json config = written(lora(".*(q_proj|experts.*)", 4, 8));

  EXPECT_EQ(config["target_modules"], json({"down_proj", "gate_proj", "q_proj", "up_proj"}));
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["lora_alpha"], 8);
  EXPECT_EQ(config["rank_pattern"], json::object());
  EXPECT_EQ(config["base_model_name_or_path"], "base");
}

// peft doubles rank and alpha of the gate and up that it fuses, which keeps alpha / r, but not alpha / sqrt(r).
TEST(AdapterConfig, SaysTheAlphaOfFusedProjectionsForTheirScale) {
  const auto alphas = [](bool rslora, bool takes_projections) {
    const LoraConfig config{".*experts.*", {.r = 4, .alpha = 8, .use_rslora = rslora}, {}};
    return json::parse(adapter_config_json(named(config), {}, "", {.takes_projections = takes_projections}))
        .at("alpha_pattern");
  };

  EXPECT_EQ(alphas(false, true), json::object());
  EXPECT_EQ(alphas(false, false), json({{R"(experts\.gate_up_proj)", 16.0}}));
  EXPECT_NEAR(alphas(true, true).at(R"(experts\.gate_up_proj)").get<double>(), 11.3137085, 1e-6);
}

TEST(AdapterConfig, NamesNoDropoutBesideExperts) {
  const auto with_dropout = [](const std::string& pattern) {
    return LoraConfig{.module_name_pattern = pattern, .params = {.r = 4, .alpha = 8, .dropout = 0.25}};
  };

  EXPECT_EQ(written(with_dropout(".*q_proj"))["lora_dropout"], 0.25);
  EXPECT_EQ(written(with_dropout(".*(q_proj|experts.*)"))["lora_dropout"], 0.0);
}

TEST(AdapterConfig, NamesModulesByTheirPathWhereOthersHaveNone) {
  const json config = written(lora(R"(model\.layers\.0\..*(q|k)_proj)"), {"model.layers.1.self_attn.q_proj"});

  EXPECT_EQ(config["target_modules"], json({"k_proj", "model.layers.0.self_attn.q_proj"}));
}

TEST(AdapterConfig, SaysRanksThatDiffer) {
  const json config = written(stack({lora(".*q_proj", 2, 3), lora(".*0.*k_proj", 5, 7)}));

  EXPECT_EQ(config["rank_pattern"], json({{"model.layers.0.self_attn.k_proj", 5}}));
  EXPECT_EQ(config["alpha_pattern"], json({{"model.layers.0.self_attn.k_proj", 7.0}}));
}

TEST(AdapterConfig, RefusesRanksOfExpertsThatDiffer) {
  EXPECT_THROW(written(stack({lora(".*0.*experts.*", 2), lora(".*experts.*", 3)})), Error);
}

class AdapterConfigFile : public testing::Test {
 protected:
  std::string error_of(json changes, const LoraParameters& params) {
    json config = {{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}, {"use_dora", false}, {"bias", "none"}};
    config.update(changes);
    write_text(disk_, folder_ / adapter_config_name, config.dump());
    NamedAdapter adapter;
    adapter.adapter.config.params = params;
    adapter.modules.push_back({"model.layers.1.self_attn.q_proj", {}});
    return test::error_of([&] { require_same_adapters(disk_, folder_.path(), {&adapter}); });
  }

  PosixDisk disk_;
  Scratch folder_;
};

TEST_F(AdapterConfigFile, IsRefusedByTheKeyThatDiffers) {
  const LoraParameters params{.r = 4, .alpha = 8};

  EXPECT_EQ(error_of(json::object(), params), "no error");
  EXPECT_THAT(error_of({{"r", 8}}, params), HasSubstr("says r = 8, the job 4"));
  EXPECT_THAT(error_of({{"lora_alpha", 16}}, params), HasSubstr("lora_alpha = 16"));
  EXPECT_THAT(error_of({{"use_rslora", true}}, params), HasSubstr("use_rslora = true, the job false"));
  EXPECT_THAT(error_of({{"peft_type", "IA3"}}, params), HasSubstr("peft_type = \"IA3\""));
  EXPECT_THAT(error_of({{"use_dora", true}}, params), HasSubstr("use_dora = true, the job false"));
  EXPECT_THAT(error_of({{"lora_bias", true}}, params), HasSubstr("lora_bias = true, which is not computed"));
  EXPECT_THAT(error_of({{"rank_pattern", {{"q_proj", 2}}}}, params), HasSubstr("says r = 2, the job 4"));
  EXPECT_EQ(error_of({{"rank_pattern", {{"0.self_attn.q_proj", 2}}}}, params), "no error");
  const json parameter{"self_attn.q_proj.weight"};
  EXPECT_THAT(error_of({{"rank_pattern", {{"q_proj", 2}}}, {"target_parameters", parameter}}, params),
              "no error");
  EXPECT_THAT(error_of({{"rank_pattern", {{"q_proj.weight", 2}}}, {"target_parameters", parameter}}, params),
              HasSubstr("says r = 2"));
  EXPECT_EQ(error_of({{"r", 2}, {"rank_pattern", {{"layers.1.*proj", 4}}}}, params), "no error");
}

}  // namespace
}  // namespace d9d::test
