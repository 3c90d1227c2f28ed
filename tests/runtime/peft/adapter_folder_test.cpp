// Against peft; see tests/golden/peft/origin.md.
#include "runtime/peft/adapter_folder.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/peft/merged_folder.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class AdapterFolders : public testing::Test {
 protected:
  // The adapter that peft saved, with other options.
  std::string with(const json& changes, const std::string& golden = "dense") {
    const std::string from = golden_folder("peft/" + golden);
    json config = json::parse(read_text(disk_, from + "/adapter_config.json", 1 << 20));
    config.update(changes);
    write_text(disk_, folder_ / "adapter_config.json", config.dump());
    write_text(disk_, folder_ / "adapter_model.safetensors",
               read_text(disk_, from + "/adapter_model.safetensors", 1 << 20));
    return folder_.path();
  }
  std::string error_with(const json& changes) {
    return error_of([&] { AdapterFolder(disk_, with(changes)); });
  }

  PosixDisk disk_;
  Scratch folder_;
};

TEST_F(AdapterFolders, AreMergedIntoWhatPeftMerges) {
  for (const char* name : {"dense", "rslora", "dora", "classifier"}) {
    const ModelFiles base(disk_, golden_folder("dense_bias_yarn"));
    const AdapterFolder adapter(disk_, golden_folder(std::string("peft/") + name));
    const MergedFolder merged(base, adapter);
    int compared = 0;

    for (const auto& [key, values] : read_safetensors(adapter.directory() + "/expect.safetensors")) {
      if (!key.starts_with("merged.")) continue;
      const std::string tensor = key.substr(7);
      EXPECT_LT(relative_difference(merged.read(tensor), values), 1e-6) << name << " " << tensor;
      ++compared;
    }
    EXPECT_GE(compared, 3) << name;
  }
}

TEST_F(AdapterFolders, BringAHeadThatTheModelLacks) {
  const ModelFiles base(disk_, golden_folder("dense_bias_yarn"));
  const AdapterFolder adapter(disk_, golden_folder("peft/classifier"));

  const MergedFolder merged(base, adapter);

  ASSERT_EQ(merged.added().size(), 1U);
  EXPECT_EQ(merged.added()[0].name, "score.weight");
  EXPECT_EQ(merged.added()[0].shape, (Shape{3, 24}));
  EXPECT_EQ(adapter.task_type(), "SEQ_CLS");
}

TEST_F(AdapterFolders, OptionsThatChangeWhatIsComputedAreRefusedByName) {
  const std::vector<std::pair<const char*, json>> changes{
      {"init_lora_weights", "pissa"},
      {"init_lora_weights", "pissa_niter_16"},
      {"init_lora_weights", "olora"},
      {"init_lora_weights", "loftq"},
      {"init_lora_weights", "corda"},
      {"init_lora_weights", "lora_ga"},
      {"alora_invocation_tokens", {1, 2}},
      {"corda_config", {{"cache_file", "x"}}},
      {"lora_ga_config", {{"direction", "x"}}},
      {"loftq_config", {{"loftq_bits", 4}}},
      {"use_bdlora", {{"match_strict", true}}},
      {"layer_replication", {{0, 1}}},
      {"velora_config", {{"num_groups", 4}}},
      {"arrow_config", {{"top_k", 3}}},
      {"kasa_config", {{"beta", 1}}},
      {"monteclora_config", {{"samples", 1}}},
      {"megatron_config", {{"tp", 2}}},
      {"lora_bias", true},
      {"bias", "all"},
      {"fan_in_fan_out", true},
      {"target_parameters", {"mlp.experts.gate_up_proj"}},
      {"trainable_token_indices", {1, 2}},
      {"a_key_of_tomorrow", 1},
  };
  for (const auto& [key, value] : changes)
    EXPECT_THAT(error_with({{key, value}}),
                AllOf(HasSubstr(std::string(" says ") + key + " = "), HasSubstr("merge")))
        << key;
  // The keys of a method come in the order of their names.
  EXPECT_THAT(error_with({{"use_qalora", true}}),
              HasSubstr(" says qalora_group_size = 16, which is not computed"));
}

TEST_F(AdapterFolders, OptionsThatChangeNothingAreTaken) {
  const std::vector<std::pair<const char*, json>> changes{
      {"init_lora_weights", "gaussian"},
      {"init_lora_weights", "orthogonal"},
      {"init_lora_weights", "eva"},
      {"init_lora_weights", false},
      {"eva_config", {{"rho", 2.0}}},
      {"exclude_modules", {"k_proj"}},
      {"layers_to_transform", {0, 1}},
      {"layers_pattern", "layers"},
      {"lora_dropout", 0.5},
      {"peft_version", "0.99"},
      {"qalora_group_size", 32},
      {"ensure_weight_tying", true},
      {"revision", "main"},
      {"a_key_of_tomorrow", nullptr},
  };
  for (const auto& [key, value] : changes) EXPECT_EQ(error_with({{key, value}}), "no error") << key;
}

TEST_F(AdapterFolders, SayWhatIsNotOfAnAdapter) {
  EXPECT_THAT(error_with({{"peft_type", "IA3"}}), HasSubstr("says peft_type = \"IA3\""));
  with(json::object());
  disk_.remove_all(folder_ / "adapter_model.safetensors");
  EXPECT_THAT(error_of([&] { AdapterFolder(disk_, folder_.path()); }),
              HasSubstr("adapter_model.safetensors is not there"));
  write_text(disk_, folder_ / "adapter_model.bin", "pickle");
  EXPECT_THAT(error_of([&] { AdapterFolder(disk_, folder_.path()); }),
              HasSubstr("holds adapter_model.bin, which can be read by Python alone"));
}

TEST_F(AdapterFolders, OfAnotherModelAreRefused) {
  const ModelFiles base(disk_, golden_folder("moe"));
  const AdapterFolder adapter(disk_, golden_folder("peft/dense"));

  EXPECT_THAT(error_of([&] { MergedFolder(base, adapter); }),
              AllOf(HasSubstr("adapters of modules that the model's folder does not have"),
                    HasSubstr("mlp.down_proj")));
}

TEST_F(AdapterFolders, NameTheModelThatTheyBelongTo) {
  const auto base = [&](const json& name, const std::string& given) {
    const AdapterFolder adapter(disk_, with({{"base_model_name_or_path", name}}));
    return base_of_adapter(disk_, adapter, given);
  };
  const std::string there = golden_folder("dense_bias_yarn");

  EXPECT_EQ(base(there, ""), there);
  EXPECT_EQ(base("someone/model", there), there);
  EXPECT_THAT(error_of([&] { base("someone/model", ""); }),
              AllOf(HasSubstr("someone/model, the model that"), HasSubstr("--base FOLDER")));
  EXPECT_THAT(error_of([&] { base(nullptr, ""); }), HasSubstr("give that model's folder with --base"));
}

}  // namespace
}  // namespace d9d::test
