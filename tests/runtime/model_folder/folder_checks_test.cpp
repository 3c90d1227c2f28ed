// Folders as people have them, against transformers; see tests/golden/folders/origin.md.
#include "runtime/model_folder/folder_checks.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/folder_conversion.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "runtime/text/model_use.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderOfPeople : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A golden folder with its tensors and its config.json changed.
  void make(
      const std::string& golden, const std::function<void(TensorMap&)>& change_weights,
      const std::function<void(json&)>& change_config = [](json&) {}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    TensorMap weights = read_safetensors(golden_folder(golden) + "/model.safetensors");
    change_weights(weights);
    std::vector<TensorSpec> specs;
    for (const auto& [name, tensor] : weights) specs.push_back(spec_of(name, tensor));
    SafetensorsWriter writer(disk_, folder_ + "/model.safetensors", specs);
    for (const auto& [name, tensor] : weights) writer.write(name, tensor);
    writer.finish(false);
    json config = json::parse(std::ifstream(golden_folder(golden) + "/config.json"));
    change_config(config);
    std::ofstream(folder_ + "/config.json") << config.dump(2);
  }
  static at::Tensor logits_of(const LoadedModel& model, const TensorMap& expect) {
    return model.stage->forward({{"input_ids", expect.at("input_ids")}}, {}).at("logits");
  }
  // The largest difference from transformers, of the whole.
  double difference_from(const std::string& golden, const std::string& folder) {
    const TensorMap expect = read_safetensors(golden_folder(golden) + "/expect.safetensors");
    return relative_difference(logits_of(load_hugging_face_model(disk_, folder), expect),
                               expect.at("logits"));
  }
  std::string error_of_load() {
    return error_of([&] { load_hugging_face_model(disk_, folder_); }, ErrorKind::input);
  }
  std::vector<std::string> notes() {
    return check_hugging_face_weights(disk_, folder_, *read_hugging_face_config(folder_));
  }

  PosixDisk disk_;
  const std::string folder_ = testing::TempDir() + "d9d_folder_checks_" + std::to_string(::getpid());
};

TensorMap renamed(const TensorMap& weights, const std::function<std::string(const std::string&)>& to) {
  TensorMap all;
  for (const auto& [name, tensor] : weights) all[to(name)] = tensor;
  return all;
}

// Weights of 8 bits, and experts of 4.
class QuantisedFolder : public FolderOfPeople, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, QuantisedFolder,
                         testing::Values("folders/deepseek_v3_float8", "folders/gpt_oss_mxfp4"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(QuantisedFolder, ComputesAsTransformersWithItsWeightsDequantised) {
  EXPECT_LT(difference_from(GetParam(), golden_folder(GetParam())), 1e-5);
}

TEST_P(QuantisedFolder, GivesAStageItsPartOfEveryTensor) {
  const std::string folder = golden_folder(GetParam());
  const LoadedModel whole_model = load_hugging_face_model(disk_, folder);
  TensorMap all;
  for (const auto& parameter : whole_model.stage->parameters())
    all[parameter.name] = parameter.tensor.detach();

  for (const int index : {0, 1}) {
    const auto stage = whole_model.config->build_stage({index, 2}, {});
    load_hugging_face_weights(disk_, folder, *whole_model.config, {index, 2}, stage->parameters());
    for (const auto& parameter : stage->parameters())
      EXPECT_TRUE(bitwise_equal(parameter.tensor.detach(), all.at(parameter.name))) << parameter.name;
  }
}

TEST_P(QuantisedFolder, IsConvertedToTheDtypeOfItsConfig) {
  FolderConversion conversion;
  conversion.from = golden_folder(GetParam());
  conversion.to = folder_;

  convert_folder(disk_, conversion, Registry());

  const json config = json::parse(std::ifstream(folder_ + "/config.json"));
  EXPECT_FALSE(config.contains("quantization_config"));
  EXPECT_EQ(config.at("dtype"), "float32");
  EXPECT_LT(difference_from(GetParam(), folder_), 1e-5);
}

TEST_F(FolderOfPeople, OfAMultimodalGemmaIsItsTextModel) {
  const std::string folder = golden_folder("folders/gemma3_multimodal");
  const auto config = read_hugging_face_config(folder);

  EXPECT_LT(difference_from("folders/gemma3_multimodal", folder), 1e-5);
  EXPECT_THAT(config->eos_token_ids, ElementsAre(1, 7));
  EXPECT_THAT(check_hugging_face_weights(disk_, folder, *config),
              ElementsAre(AllOf(HasSubstr("multimodal"), HasSubstr("vision_tower"))));
}

TEST_F(FolderOfPeople, OfAMultimodalModelMayHaveTheNamesOfTransformers4) {
  make("folders/gemma3_multimodal", [](TensorMap& weights) {
    weights = renamed(weights, [](const std::string& name) {
      const std::string now = "model.language_model.";
      if (name.starts_with(now)) return "language_model.model." + name.substr(now.size());
      return name.starts_with("model.") ? name.substr(6) : name;
    });
  });

  EXPECT_LT(difference_from("folders/gemma3_multimodal", folder_), 1e-5);
}

TEST_F(FolderOfPeople, OfAnotherMultimodalModelHasTheFamilyOfItsText) {
  make(
      "dense_families/mistral",
      [](TensorMap& weights) {
        weights = renamed(weights, [](const std::string& name) { return "language_model." + name; });
        weights["vision_tower.patch_conv.weight"] = at::full({2}, 1.0);
      },
      [](json& config) {
        json text = config;
        text.erase("model_type");
        config = {{"model_type", "mistral3"},
                  {"architectures", {"Mistral3ForConditionalGeneration"}},
                  {"text_config", text},
                  {"vision_config", {{"model_type", "pixtral"}}}};
      });

  EXPECT_LT(difference_from("dense_families/mistral", folder_), 1e-5);
}

TEST_F(FolderOfPeople, MaySpellItsNamesAsWrappersDo) {
  for (const char* const prefix : {"module.", "_orig_mod.", "base_model.model."}) {
    SCOPED_TRACE(prefix);
    make("sparse_families/mixtral", [&](TensorMap& weights) {
      weights = renamed(weights, [&](const std::string& name) { return prefix + name; });
    });
    EXPECT_LT(difference_from("sparse_families/mixtral", folder_), 1e-5);
  }
}

TEST_F(FolderOfPeople, MayBeGivenNewRowsHoweverItSpellsItsNames) {
  make("dense_tied", [](TensorMap& weights) {
    weights["lm_head.weight"] = weights.at("model.embed_tokens.weight");
    weights.erase("model.embed_tokens.weight");
  });
  Qwen3Config config = golden_model("dense_tied").qwen3();
  config.vocab_size += 3;

  EXPECT_NO_THROW(check_hugging_face_weights(disk_, folder_, config));
  EXPECT_EQ(new_rows(config, ModelFiles(disk_, folder_)), 3);
}

TEST_F(FolderOfPeople, WithFewerRowsThanItsConfigSaysIsAnotherModels) {
  make(
      "dense_tied", [](TensorMap&) {},
      [](json& config) { config["vocab_size"] = config["vocab_size"].get<int>() + 3; });

  EXPECT_THAT(error_of_load(), HasSubstr("the embedding has fewer rows; is it another model's?"));
}

TEST_F(FolderOfPeople, OfATiedModelMayHoldTheHeadAlone) {
  make("dense_tied", [](TensorMap& weights) {
    weights["lm_head.weight"] = weights.at("model.embed_tokens.weight");
    weights.erase("model.embed_tokens.weight");
  });

  EXPECT_LT(difference_from("dense_tied", folder_), 1e-5);
}

TEST_F(FolderOfPeople, OfATiedModelMayHoldBothIfTheyAreOne) {
  make("dense_tied", [](TensorMap& weights) {
    weights["lm_head.weight"] = weights.at("model.embed_tokens.weight").clone();
  });
  EXPECT_LT(difference_from("dense_tied", folder_), 1e-5);

  make("dense_tied", [](TensorMap& weights) {
    weights["lm_head.weight"] = weights.at("model.embed_tokens.weight").clone();
    weights.at("lm_head.weight")[5][1] += 0.5;
  });
  EXPECT_THAT(error_of_load(), AllOf(HasSubstr("tie_word_embeddings is true"), HasSubstr("lm_head.weight"),
                                     HasSubstr("set tie_word_embeddings to false")));
}

TEST_F(FolderOfPeople, WithALeftoverOfQuantisationIsTakenWithAWord) {
  make(
      "dense_families/llama", [](TensorMap&) {},
      [](json& config) {
        config["quantization_config"] = {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}};
      });

  EXPECT_LT(difference_from("dense_families/llama", folder_), 1e-5);
  EXPECT_THAT(notes(), ElementsAre(AllOf(HasSubstr("quantization_config"), HasSubstr("bitsandbytes"))));
}

TEST_F(FolderOfPeople, AsTransformersWritesItNeedsNoWord) {
  make("dense_families/llama", [](TensorMap&) {});

  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(FolderOfPeople, WithFewerLayersThanItsConfigIsRefusedBeforeAnythingIsBuilt) {
  make(
      "dense_families/llama", [](TensorMap&) {}, [](json& config) { config["num_hidden_layers"] = 9999; });

  EXPECT_THAT(error_of_load(), AllOf(HasSubstr("has 9999 layers"), HasSubstr("are of 2")));
}

TEST_F(FolderOfPeople, WithIntegersForWeightsIsRefused) {
  make("dense_families/llama", [](TensorMap& weights) {
    weights.at("model.norm.weight") = weights.at("model.norm.weight").to(at::kInt);
  });

  EXPECT_THAT(error_of_load(),
              AllOf(HasSubstr("\"model.norm.weight\" is I32"), HasSubstr("model.safetensors")));
}

TEST_F(FolderOfPeople, WithNaNChoosesNoToken) {
  make("dense_families/llama", [](TensorMap& weights) { weights.at("model.norm.weight")[3] = NAN; });
  const LoadedModel model = load_hugging_face_model(disk_, folder_);

  const auto text = error_of([&] { generate(model, {{1, 2, 3}}, {.max_new_tokens = 3}); }, ErrorKind::input);

  EXPECT_THAT(text, HasSubstr("no numbers (NaN)"));
  EXPECT_TRUE(std::isnan(score_tokens(model, at::full({1, 4}, 3, at::TensorOptions(at::kLong))).loss));
}

}  // namespace
}  // namespace d9d::test
