// Against peft; see tests/golden/peft/origin.md.
#include "runtime/peft/adapter_folder.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/peft/merged_folder.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/model/model_support.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

void write_file(Disk& disk, const std::string& path, const TensorMap& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));
  SafetensorsWriter writer(disk, path, specs);
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish(/*sync=*/false);
}

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
  for (const char* name : {"dense", "rslora", "dora", "classifier", "head"}) {
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

// base_layer is not what the base's folder has: leaving it out, or the factors, is another number.
TEST_F(AdapterFolders, OfAHeadAddToTheWeightThatPeftStoredBesideThem) {
  const ModelFiles base(disk_, golden_folder("dense_bias_yarn"));
  const AdapterFolder adapter(disk_, golden_folder("peft/head"));
  const TensorMap stored = read_safetensors(adapter.directory() + "/adapter_model.safetensors");
  const auto part = [&](const char* name) {
    return stored.at(std::string("base_model.model.lm_head.") + name + ".weight").to(at::kDouble);
  };

  const at::Tensor merged = MergedFolder(base, adapter).read("lm_head.weight").to(at::kDouble);

  const at::Tensor expected = part("base_layer") + at::matmul(part("lora_B"), part("lora_A")) * 3;
  EXPECT_LT(relative_difference(merged, expected), 1e-6);
  EXPECT_GT(relative_difference(part("base_layer"), base.read("lm_head.weight").to(at::kDouble)), 0.1);
}

// A weight of bfloat16 has 8 bits: rounding the sum loses most of a small adapter.
TEST_F(AdapterFolders, AddInFp32ToABaseOfBfloat16) {
  const ModelFiles whole(disk_, golden_folder("dense_bias_yarn"));
  const std::string name = "model.layers.0.self_attn.q_proj.weight";
  const at::Tensor weight = whole.read(name), rounded = weight.to(at::kBFloat16);
  const AdapterFolder adapter(disk_, golden_folder("peft/dense"));
  TensorMap tensors;
  for (const auto& each : whole.names()) tensors[each] = whole.read(each).to(at::kBFloat16);
  write_folder(disk_, folder_.path(), tensors, 1 << 20);
  const ModelFiles base(disk_, folder_.path());

  const MergedFolder merged(base, adapter);

  const at::Tensor peft = read_safetensors(adapter.directory() + "/expect.safetensors").at("merged." + name);
  const at::Tensor expected = rounded.to(at::kFloat) + (peft - weight);
  EXPECT_LT(relative_difference(merged.read_exact(name), expected), 1e-6);
  EXPECT_EQ(merged.read_exact("lm_head.weight").scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(merged.read(name), merged.read_exact(name).to(at::kBFloat16)));
}

// peft changes one of the two uses of the matrix, and its numbers need both.
TEST_F(AdapterFolders, OfOneUseOfATiedMatrixAreRefused) {
  const ModelFiles tied(disk_, golden_folder("dense_tied"));
  const auto error_with_module = [&](const std::string& module, const char* part) {
    with(json::object());
    TensorMap tensors = read_safetensors(folder_ / "adapter_model.safetensors");
    tensors["base_model.model." + module + part] = at::zeros({2, 2});
    if (std::string(part) == ".lora_A.weight")
      tensors["base_model.model." + module + ".lora_B.weight"] = at::zeros({2, 2});
    write_file(disk_, folder_ / "adapter_model.safetensors", tensors);
    const AdapterFolder adapter(disk_, folder_.path());
    return error_of([&] { MergedFolder(tied, adapter); });
  };

  for (const std::string& error :
       {error_with_module("model.embed_tokens", ".weight"), error_with_module("lm_head", ".weight"),
        error_with_module("lm_head", ".lora_A.weight")})
    EXPECT_THAT(error, AllOf(HasSubstr("are one tensor (tie_word_embeddings)"), HasSubstr("--base a copy")));
}

TEST_F(AdapterFolders, WithoutNumbersAreRefused) {
  with(json::object());
  TensorMap tensors = read_safetensors(folder_ / "adapter_model.safetensors");
  const std::string name = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight";
  tensors.at(name)[0][0] = std::numeric_limits<float>::quiet_NaN();
  write_file(disk_, folder_ / "adapter_model.safetensors", tensors);
  const ModelFiles base(disk_, golden_folder("dense_bias_yarn"));
  const AdapterFolder adapter(disk_, folder_.path());
  const MergedFolder merged(base, adapter);

  EXPECT_THAT(error_of([&] { merged.read("model.layers.0.self_attn.q_proj.weight"); }),
              AllOf(HasSubstr("adapter_model.safetensors: \"" + name), HasSubstr("NaN or infinite")));
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
      {"target_parameters", {"mlp.up_proj.weight"}},  // whose factors are a linear's, as any
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
