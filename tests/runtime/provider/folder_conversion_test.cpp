#include "runtime/provider/folder_conversion.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/plugin/registry.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/test_disks.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

class FolderConversions : public testing::Test {
 protected:
  FolderConversions() {
    std::filesystem::copy(golden_folder("moe"), from_);
    std::filesystem::remove(from_ + "/expect.safetensors");
    write_text(disk_, from_ + "/tokenizer.json", "{\"words\": [1, 2]}");
    write_text(disk_, from_ + "/generation_config.json", "{\"eos_token_id\": 7}");
    write_text(disk_, from_ + "/chat_template.jinja", "{{ x }}");
    write_text(disk_, from_ + "/LICENSE", "free");
  }

  ConversionSummary convert(const std::string& mapper = "") { return convert(disk_, mapper); }
  ConversionSummary convert(Disk& disk, const std::string& mapper) {
    return convert_folder(disk, {.from = from_, .to = to_, .mapper = mapper, .dtype = {}}, registry_);
  }
  std::string text(const std::string& folder, const std::string& name) {
    return read_text(disk_, join_path(folder, name), 1 << 20);
  }
  std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : disk_.list(folder)) names.push_back(entry.name);
    return names;
  }

  const TemporaryFolder folder_;
  const std::string from_ = folder_ / "from", to_ = folder_ / "to";
  QuickDisk disk_;
  Registry registry_;
};

TEST_F(FolderConversions, WithoutAChangeLeaveEveryByte) {
  const ConversionSummary summary = convert();

  EXPECT_EQ(names_in(to_), names_in(from_));
  for (const std::string& name : names_in(from_)) EXPECT_TRUE(text(to_, name) == text(from_, name)) << name;
  EXPECT_EQ(summary.num_tensors, ModelFiles(disk_, from_).names().size());
  EXPECT_EQ(summary.num_shards, 1U);
}

TEST_F(FolderConversions, FusedExpertsAreTheSameModelAndComeBackAsTheyWere) {
  const auto parameters = [&](const std::string& folder) {
    TensorMap out;
    const LoadedModel model = load_hugging_face_model(disk_, folder);
    for (const StageParameter& p : model.stage->parameters()) out[p.name] = p.tensor.detach();
    return out;
  };
  const std::string back = folder_ / "back";

  convert("experts_fused");
  convert_folder(disk_, {.from = to_, .to = back, .mapper = "experts_one_by_one", .dtype = {}}, registry_);

  EXPECT_TRUE(ModelFiles(disk_, to_).names().contains("model.layers.0.mlp.experts.gate_up_proj"));
  const TensorMap before = parameters(from_), fused = parameters(to_);
  ASSERT_EQ(before.size(), fused.size());
  for (const auto& [name, tensor] : before) EXPECT_TRUE(bitwise_equal(tensor, fused.at(name))) << name;
  const ModelFiles first(disk_, from_), again(disk_, back);
  ASSERT_EQ(first.names(), again.names());
  for (const auto& name : first.names())
    EXPECT_TRUE(bitwise_equal(first.read(name), again.read(name))) << name;
}

TEST_F(FolderConversions, TellTheNewDtypeInConfigJsonAndKeepItsOtherKeys) {
  convert_folder(disk_, {.from = from_, .to = to_, .mapper = "", .dtype = Dtype::bfloat16}, registry_);

  auto before = nlohmann::ordered_json::parse(text(from_, "config.json"));
  auto after = nlohmann::ordered_json::parse(text(to_, "config.json"));
  const char* key = before.contains("dtype") ? "dtype" : "torch_dtype";
  EXPECT_EQ(after[key], "bfloat16");
  before[key] = "bfloat16";
  EXPECT_EQ(before.dump(), after.dump()) << "in the same order";
  EXPECT_EQ(ModelFiles(disk_, to_).spec("lm_head.weight").dtype, Dtype::bfloat16);
  EXPECT_EQ(text(to_, "tokenizer.json"), text(from_, "tokenizer.json"));
}

// The logits of peft, from the merged folder; the sums are fp32's whatever the dtype of the folder is.
TEST_F(FolderConversions, OfAnAdapterAreItsBaseMerged) {
  const std::string adapter = golden_folder("peft/moe"), fused = folder_ / "fused";
  convert_folder(disk_, {.from = golden_folder("moe"), .to = fused, .mapper = "experts_fused", .dtype = {}},
                 registry_);
  const TensorMap expect = read_safetensors(adapter + "/expect.safetensors");

  for (const std::string& base : {from_, fused}) {
    disk_.remove_all(to_);
    convert_folder(disk_, {.from = adapter, .base = base, .to = to_, .mapper = "", .dtype = {}}, registry_);

    EXPECT_EQ(ModelFiles(disk_, to_).names(), ModelFiles(disk_, base).names());
    const LoadedModel merged = load_hugging_face_model(disk_, to_);
    const auto outputs = merged.stage->forward({{"input_ids", expect.at("input_ids")}}, {});
    EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5) << base;
    EXPECT_FALSE(disk_.exists(to_ + "/adapter_config.json"));
  }
}

TEST_F(FolderConversions, OfAClassifiersAdapterAreAClassifier) {
  const std::string adapter = golden_folder("peft/classifier");

  convert_folder(disk_, {.from = adapter, .base = golden_folder("dense_bias_yarn"), .to = to_, .dtype = {}},
                 registry_);

  const ModelFiles merged(disk_, to_);
  for (const auto& [key, values] : read_safetensors(adapter + "/expect.safetensors")) {
    if (!key.starts_with("merged.")) continue;
    EXPECT_LT(relative_difference(merged.read(key.substr(7)), values), 1e-6) << key;
  }
  EXPECT_FALSE(merged.names().contains("lm_head.weight"));
  const auto config = nlohmann::json::parse(text(to_, "config.json"));
  EXPECT_EQ(config["architectures"], nlohmann::json({"Qwen3ForSequenceClassification"}));
  EXPECT_EQ(config["id2label"].size(), 3U);
}

TEST_F(FolderConversions, CarryChatTemplatesInTheirFolder) {
  disk_.make_directories(from_ + "/additional_chat_templates");
  write_text(disk_, from_ + "/additional_chat_templates/tool_use.jinja", "{{ tools }}");

  const ConversionSummary summary = convert();

  EXPECT_EQ(text(to_, "additional_chat_templates/tool_use.jinja"), "{{ tools }}");
  EXPECT_TRUE(summary.left_files.empty());
}

// In the names that transformers 5 gives its modules, with the same weights.
TEST_F(FolderConversions, FuseTheExpertsOfEveryFamily) {
  for (const char* family : {"sparse_families/mixtral", "sparse_families/qwen2_moe",
                             "latent_families/deepseek_v3", "qwen3_next/mixed"}) {
    disk_.remove_all(to_);
    const std::string golden = golden_folder(family);

    convert_folder(disk_, {.from = golden, .to = to_, .mapper = "experts_fused", .dtype = {}}, registry_);

    const LoadedModel before = load_hugging_face_model(disk_, golden),
                      after = load_hugging_face_model(disk_, to_);
    const auto parameters = before.stage->parameters(), again = after.stage->parameters();
    ASSERT_EQ(parameters.size(), again.size());
    for (std::size_t i = 0; i < parameters.size(); ++i)
      EXPECT_TRUE(bitwise_equal(parameters[i].tensor, again[i].tensor))
          << family << " " << parameters[i].name;
    std::size_t fused = 0, single = 0;
    for (const std::string& name : ModelFiles(disk_, to_).names()) {
      fused += name.ends_with(".mlp.experts.gate_up_proj") ? 1 : 0;
      single += name.find(".experts.0.") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(fused, 0U) << family;
    EXPECT_EQ(single, 0U) << family;
  }
}

TEST_F(FolderConversions, SayWhatTheyLeaveBehind) {
  write_text(disk_, from_ + "/consolidated.safetensors", "of another program");
  write_text(disk_, from_ + "/rules.yaml", "rules: [{do: drop, from: lm_head.weight}]\n");
  disk_.make_directories(from_ + "/original");

  const ConversionSummary summary = convert(from_ + "/rules.yaml");

  EXPECT_THAT(summary.left_tensors, ElementsAre("lm_head.weight"));
  EXPECT_THAT(summary.left_files, UnorderedElementsAre("consolidated.safetensors", "original/"));
  EXPECT_FALSE(ModelFiles(disk_, to_).names().contains("lm_head.weight"));
}

TEST_F(FolderConversions, KilledAtAnyMomentLeaveAWholeFolderOrNone) {
  convert("experts_fused");
  const std::string whole = text(to_, "model.safetensors");
  int kills = 0;
  bool died = true;
  for (int changes = 0; died; ++changes, ++kills) {
    disk_.remove_all(to_);
    DyingDisk dying(changes);
    try {
      convert(dying, "experts_fused");
    } catch (const Error&) {
    }
    died = dying.died();
    if (disk_.exists(to_ + "/config.json")) {
      EXPECT_THAT(names_in(to_), IsSupersetOf(names_in(from_))) << changes;
      EXPECT_NO_THROW(load_hugging_face_model(disk_, to_)) << changes;
    } else {
      convert("experts_fused");  // goes on without --replace
      EXPECT_EQ(names_in(to_), names_in(from_)) << changes;
      EXPECT_TRUE(text(to_, "model.safetensors") == whole) << changes;
    }
  }
  EXPECT_GT(kills, 50);
  EXPECT_TRUE(disk_.exists(to_ + "/config.json"));
}

TEST_F(FolderConversions, AFullDiskLeavesNothing) {
  FullDisk full(20'000);
  EXPECT_THAT(error_of([&] { convert(full, ""); }), HasSubstr("No space left"));
  EXPECT_FALSE(disk_.exists(to_));
}

TEST_F(FolderConversions, RefuseFoldersByName) {
  const auto error = [&](const std::string& from, const std::string& to) {
    return error_of(
        [&] { convert_folder(disk_, {.from = from, .to = to, .mapper = "", .dtype = {}}, registry_); });
  };
  disk_.make_directories(folder_ / "save-3");
  write_text(disk_, folder_ / "save-3/manifest.json", "{}");

  EXPECT_THAT(error(folder_ / "nowhere", to_), HasSubstr("nowhere is not there"));
  EXPECT_THAT(error(folder_ / "save-3", to_), HasSubstr("is a training checkpoint; `d9d-node export`"));
  EXPECT_THAT(error(folder_.path(), to_), HasSubstr("holds neither model.safetensors.index.json nor"));
  EXPECT_THAT(error(from_, from_ + "/../from/"), HasSubstr("are the same folder"));
  convert();
  EXPECT_THAT(error(from_, to_),
              HasSubstr("holds chat_template.jinja already; give another folder, or --replace"));
  FolderConversion again{.from = from_, .to = to_, .mapper = "experts_fused", .dtype = {}};
  again.replace = true;
  convert_folder(disk_, again, registry_);
  EXPECT_TRUE(ModelFiles(disk_, to_).names().contains("model.layers.0.mlp.experts.gate_up_proj"));
}

}  // namespace
}  // namespace d9d::test
