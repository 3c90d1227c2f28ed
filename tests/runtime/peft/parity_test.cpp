// Against peft; see tests/golden/peft/origin.md.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/peft/adapter_files.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

struct Case {
  const char* name;
  const char* model;
  const char* pattern;

  friend void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }
};

// A model of tests/golden/qwen3 with an adapter that peft saved.
struct Adapted {
  GoldenModel golden;
  TensorMap expect;
  PeftConfig config;
  std::unique_ptr<StageModule> stage;
  std::vector<NamedAdapter> adapters;
};

LoraConfig config_of(const std::string& folder, const char* pattern) {
  const PosixDisk disk;
  const auto stored = nlohmann::json::parse(read_text(disk, folder + "/adapter_config.json", 1 << 20));
  return {.module_name_pattern = pattern,
          .params = {.r = stored.at("r").get<std::int64_t>(),
                     .alpha = stored.at("lora_alpha").get<double>(),
                     .use_rslora = stored.at("use_rslora").get<bool>(),
                     .use_dora = stored.value("use_dora", false)},
          .from = folder};
}

// `head`: for the head's weight; undefined: as in the model's folder.
Adapted adapted(const Case& given, const at::Tensor& head = {}) {
  const PosixDisk disk;
  const std::string folder = golden_folder(std::string("peft/") + given.name);
  Adapted all{.golden = golden_model(given.model),
              .expect = read_safetensors(folder + "/expect.safetensors"),
              .config = config_of(folder, given.pattern)};
  all.stage = stage_of(all.golden);
  inject_peft_and_freeze(*all.stage, *make_peft_method(all.config));
  const auto mapper = all.golden.model->to_hugging_face();
  for (const LoraAdapter& adapter : lora_adapters(*all.stage)) {
    all.adapters.push_back({adapter, modules_of(*mapper, adapter.weight)});
    if (head.defined() && all.adapters.back().modules.at(0).path == "lm_head")
      adapter.weight.tensor.detach().copy_(head);
  }
  check_adapters(disk, all.adapters);
  load_adapters(disk, all.adapters, all.stage->parameters());
  return all;
}

at::Tensor loss_of(const Adapted& all) {
  const at::Tensor& labels = all.expect.at("labels");
  const auto outputs = all.stage->forward({{"input_ids", all.expect.at("input_ids")}}, {{"labels", labels}});
  return mean_loss(outputs.at("cross_entropy"), labels);
}

class PeftParity : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, PeftParity,
                         testing::Values(Case{"dense", "dense_bias_yarn",
                                              R"(.*\.([qvo]_proj|(gate|up|down)_proj))"},
                                         Case{"rslora", "dense_bias_yarn", R"(.*\.(k_proj|down_proj))"},
                                         Case{"dora", "dense_bias_yarn", R"(.*\.(k_proj|o_proj|up_proj))"},
                                         Case{"moe", "moe", R"(.*\.(q_proj|experts\.(gate|up|down)_proj))"}),
                         [](const auto& info) { return info.param.name; });

// peft stores the weight of a head beside the head's factors. A job has it from the model's folder.
TEST(PeftHead, BeginsWithTheWeightBesideItsFactors) {
  const Case head{"head", "dense_bias_yarn", R"(.*\.q_proj|lm_head)"};
  const std::string folder = golden_folder("peft/head");

  const Adapted all = adapted(head, read_safetensors(folder + "/adapter_model.safetensors")
                                        .at("base_model.model.lm_head.base_layer.weight"));

  const auto outputs = all.stage->forward({{"input_ids", all.expect.at("input_ids")}}, {});
  EXPECT_EQ(all.adapters.size(), 3U);
  EXPECT_LT(relative_difference(outputs.at("logits"), all.expect.at("logits")), 1e-5);
  EXPECT_EQ(whole_tensors_in(PosixDisk(), folder), std::vector<std::string>());
  EXPECT_THAT(error_of([&] { adapted(head); }), testing::HasSubstr("the model's folder has another"));
}

TEST_P(PeftParity, LogitsAndLossAreThoseOfPeft) {
  const Adapted all = adapted(GetParam());

  const auto outputs = all.stage->forward({{"input_ids", all.expect.at("input_ids")}}, {});

  const double loss = all.expect.at("loss").item<double>();
  EXPECT_LT(relative_difference(outputs.at("logits"), all.expect.at("logits")), 1e-5);
  EXPECT_NEAR(loss_of(all).item<double>(), loss, 1e-6 * loss);
}

TEST_P(PeftParity, MergedWeightsComputeTheSame) {
  const Adapted all = adapted(GetParam());

  merge_peft(*all.stage, *make_peft_method(all.config));

  const auto outputs = all.stage->forward({{"input_ids", all.expect.at("input_ids")}}, {});
  EXPECT_LT(relative_difference(outputs.at("logits"), all.expect.at("logits")), 1e-5);
  for (const StageParameter& parameter : all.stage->parameters()) {
    const auto merged = all.expect.find("merged." + parameter.name);
    if (merged == all.expect.end()) continue;
    EXPECT_LT(relative_difference(parameter.tensor, merged->second), 1e-5) << parameter.name;
  }
}

// Of the cases whose gradients peft keeps matrix by matrix.
class PeftStep : public PeftParity {};
INSTANTIATE_TEST_SUITE_P(Cases, PeftStep,
                         testing::Values(Case{"dense", "dense_bias_yarn",
                                              R"(.*\.([qvo]_proj|(gate|up|down)_proj))"},
                                         Case{"rslora", "dense_bias_yarn", R"(.*\.(k_proj|down_proj))"},
                                         Case{"dora", "dense_bias_yarn", R"(.*\.(k_proj|o_proj|up_proj))"}),
                         [](const auto& info) { return info.param.name; });

// The parameters of an adapter by the names that peft stores them under.
std::vector<std::pair<std::string, at::Tensor>> factors_of(const NamedAdapter& named) {
  const FactorNames names = factor_names(named.modules.at(0));
  std::vector<std::pair<std::string, at::Tensor>> factors{{names.a, named.adapter.a.tensor},
                                                          {names.b, named.adapter.b.tensor}};
  if (named.adapter.magnitudes) factors.emplace_back(names.magnitudes, named.adapter.magnitudes->tensor);
  return factors;
}

TEST_P(PeftStep, IsThatOfPeft) {
  const Adapted all = adapted(GetParam());
  const FlatParameters flat(all.stage->parameters(), {});
  const auto optimizer =
      make_optimizer(AdamWOptions{.lr = 0.01, .betas = {0.9, 0.95}, .weight_decay = 0.1}, flat);

  run_backward(loss_of(all));
  for (const NamedAdapter& adapter : all.adapters) {
    for (const auto& [name, factor] : factors_of(adapter))
      EXPECT_LT(relative_difference(factor.grad(), all.expect.at("grad." + name)), 1e-4) << name;
  }

  optimizer->step({});
  for (const NamedAdapter& adapter : all.adapters) {
    for (const auto& [name, factor] : factors_of(adapter))
      EXPECT_LT(relative_difference(factor, all.expect.at("stepped." + name)), 1e-4) << name;
  }
}

}  // namespace
}  // namespace d9d::test
