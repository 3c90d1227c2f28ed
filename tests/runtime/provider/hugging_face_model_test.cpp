// Against the golden folders that transformers wrote; see tests/golden/qwen3/origin.md.
#include "runtime/provider/hugging_face_model.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/held_tensors.hpp"
#include "tests/runtime/state/model/model_support.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class HuggingFaceModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  PosixDisk disk_;
  std::string folder_ = testing::TempDir() + "d9d_export_" + std::to_string(::getpid());
};
INSTANTIATE_TEST_SUITE_P(Cases, HuggingFaceModel,
                         testing::Values("dense_tied", "dense_bias_yarn", "moe", "moe_mixed",
                                         "dense_families/llama", "dense_families/llama_bias_tied",
                                         "dense_families/llama_mlp_bias", "dense_families/qwen2",
                                         "dense_families/mistral", "dense_families/mistral_window",
                                         "sparse_families/mixtral", "sparse_families/mixtral_fused",
                                         "sparse_families/qwen2_moe", "sparse_families/qwen2_moe_mixed",
                                         "sparse_families/gpt_oss", "latent_families/deepseek_v3",
                                         "latent_families/deepseek_v3_yarn", "gemma3_text/published",
                                         "gemma3_text/capped", "modernbert/modernbert",
                                         "modernbert/modernbert_padded"),
                         [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TensorMap parameters_of(StageModule& stage) {
  TensorMap out;
  for (const StageParameter& p : stage.parameters()) out[p.name] = p.tensor.detach();
  for (const StageBuffer& b : stage.buffers()) out[b.name] = b.tensor;
  return out;
}

void expect_same(const TensorMap& actual, const TensorMap& expected) {
  for (const auto& [name, tensor] : actual) EXPECT_TRUE(bitwise_equal(tensor, expected.at(name))) << name;
}

TEST_P(HuggingFaceModel, LoadsEveryParameterFromTheFolder) {
  const GoldenModel golden = golden_model(GetParam());

  const LoadedModel model = load_hugging_face_model(disk_, golden_folder(GetParam()));

  expect_same(parameters_of(*model.stage), golden.weights);
}

TEST_P(HuggingFaceModel, ExportsWhatItLoadsAgain) {
  const LoadedModel model = load_hugging_face_model(disk_, golden_folder(GetParam()));
  const TensorMap parameters = parameters_of(*model.stage);

  export_hugging_face(disk_, folder_, *model.config, HeldTensors(parameters));

  const LoadedModel again = load_hugging_face_model(disk_, folder_);
  EXPECT_EQ(again.config->config_json(), model.config->config_json());
  expect_same(parameters_of(*again.stage), parameters);
}

using HuggingFaceFolder = HuggingFaceModel;

TEST_F(HuggingFaceFolder, GivesAStageOnlyItsPart) {
  const GoldenModel golden = golden_model("moe");
  const auto last = golden.qwen3().build_stage({1, 2}, {});

  load_hugging_face_weights(disk_, golden_folder("moe"), golden.qwen3(), {1, 2}, last->parameters());

  expect_same(parameters_of(*last), golden.weights);
}

TEST_F(HuggingFaceFolder, ExportsInShardsWithAnIndexAndTheConfigsDtype) {
  const LoadedModel model = load_hugging_face_model(disk_, golden_folder("moe"));
  Qwen3Config config = golden_model("moe").qwen3();
  const TensorMap parameters = parameters_of(*model.stage);
  config.dtype = "bfloat16";

  export_hugging_face(disk_, folder_, config, HeldTensors(parameters), {}, {.shard_bytes_max = 8000});

  EXPECT_TRUE(disk_.exists(folder_ + "/model.safetensors.index.json"));
  const LoadedModel again = load_hugging_face_model(disk_, folder_);
  const std::string name = "model.layers.1.mlp.experts.up_proj.weight";
  EXPECT_TRUE(bitwise_equal(parameters_of(*again.stage).at(name),
                            parameters.at(name).to(at::kBFloat16).to(at::kFloat)));
}

TEST_F(HuggingFaceFolder, HoldsAVocabularyInPartsAsOneTable) {
  for (const char* name : {"dense_tied", "moe"}) {
    SCOPED_TRACE(name);
    const LoadedModel whole = load_hugging_face_model(disk_, golden_folder(name));
    Qwen3Config parted = golden_model(name).qwen3();
    parted.vocabulary_parts = {{"regular", 40}, {"special", parted.vocab_size - 40}};
    const auto stage = parted.build_stage({}, {});

    load_hugging_face_weights(disk_, golden_folder(name), parted, {}, stage->parameters());
    const TensorMap parameters = parameters_of(*stage);
    export_hugging_face(disk_, folder_ + name, parted, HeldTensors(parameters));

    EXPECT_TRUE(bitwise_equal(
        parameters.at("model.embed_tokens.special.weight"),
        parameters_of(*whole.stage).at("model.embed_tokens.weight").narrow(0, 40, parted.vocab_size - 40)));
    const LoadedModel again = load_hugging_face_model(disk_, folder_ + name);
    expect_same(parameters_of(*again.stage), parameters_of(*whole.stage));
  }
}

TEST_F(HuggingFaceFolder, SeveralProcessesWriteWhatOneWrites) {
  const LoadedModel model = load_hugging_face_model(disk_, golden_folder("moe"));
  const HeldTensors weights(parameters_of(*model.stage));
  const std::string alone = folder_ + "/alone", shared = folder_ + "/shared";

  export_hugging_face(disk_, alone, *model.config, weights, {}, {.shard_bytes_max = 9000});
  for (int share = 0; share < 3; ++share) {
    export_hugging_face(disk_, shared, *model.config, weights, {},
                        {.share = {share, 3}, .threads = 2, .shard_bytes_max = 9000});
  }

  const auto files = disk_.list(alone);
  ASSERT_GT(files.size(), 4U);
  ASSERT_EQ(disk_.list(shared).size(), files.size());
  for (const DirectoryEntry& file : files) {
    EXPECT_TRUE(read_text(disk_, join_path(alone, file.name), 1 << 20) ==
                read_text(disk_, join_path(shared, file.name), 1 << 20))
        << file.name;
  }
}

// The logits of peft, from the adapter's folder and that of its base.
TEST_F(HuggingFaceFolder, MayBeThatOfAnAdapter) {
  for (const auto& [name, base] :
       {std::pair{"dense", "dense_bias_yarn"}, std::pair{"rslora", "dense_bias_yarn"},
        std::pair{"dora", "dense_bias_yarn"}, std::pair{"head", "dense_bias_yarn"},
        std::pair{"moe", "moe"}}) {
    const std::string adapter = golden_folder(std::string("peft/") + name);

    const LoadedModel model =
        load_hugging_face_model(disk_, adapter, at::kFloat, at::kCPU, golden_folder(base));

    const TensorMap expect = read_safetensors(adapter + "/expect.safetensors");
    const auto outputs = model.stage->forward({{"input_ids", expect.at("input_ids")}}, {});
    EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5) << name;
  }
}

// peft computes in fp32 with weights that are stored in bfloat16: its sum is not rounded.
TEST_F(HuggingFaceFolder, OfAnAdapterAddsInFp32ToABaseOfBfloat16) {
  const std::string adapter = golden_folder("peft/head"), whole = golden_folder("dense_bias_yarn");
  const ModelFiles files(disk_, whole);
  TensorMap tensors;
  for (const std::string& name : files.names()) tensors[name] = files.read(name).to(at::kBFloat16);
  std::filesystem::create_directories(folder_);
  write_folder(disk_, folder_, tensors, 1 << 20);
  std::filesystem::copy(whole + "/config.json", folder_ + "/config.json");

  const LoadedModel model = load_hugging_face_model(disk_, adapter, at::kFloat, at::kCPU, folder_);

  const TensorMap expect = read_safetensors(adapter + "/expect.safetensors");
  const auto outputs = model.stage->forward({{"input_ids", expect.at("input_ids")}}, {});
  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits_of_bfloat16")), 1e-5);
  EXPECT_GT(relative_difference(expect.at("logits_of_bfloat16"), expect.at("logits")), 1e-3);
}

TEST_F(HuggingFaceFolder, OfAnAdapterWithAHeadOfItsOwnIsForAJob) {
  const auto load = [&](const std::string& folder, const std::string& base) {
    return error_of([&] { load_hugging_face_model(disk_, folder, at::kFloat, at::kCPU, base); });
  };

  EXPECT_THAT(load(golden_folder("peft/classifier"), golden_folder("dense_bias_yarn")),
              HasSubstr("holds score.weight"));
  EXPECT_THAT(load(golden_folder("moe"), golden_folder("moe")),
              HasSubstr("--base is for the folder of an adapter"));
}

TEST_F(HuggingFaceFolder, ChecksItsHeadersAheadAgainstTheWholeModel) {
  for (const char* name : {"dense_tied", "dense_bias_yarn", "moe", "moe_mixed"}) {
    EXPECT_NO_THROW(check_hugging_face_weights(disk_, golden_folder(name), *golden_model(name).model))
        << name;
  }
  Qwen3Config narrower = golden_model("moe").qwen3();
  narrower.vocab_size -= 8;
  EXPECT_THAT(error_of([&] { check_hugging_face_weights(disk_, golden_folder("moe"), narrower); }),
              HasSubstr("weight\" has shape [53, 24], "));
}

TEST_F(HuggingFaceFolder, TellsWhereItsConfigSaysOtherNumbersThanTheJob) {
  Qwen3Config config = golden_model("moe").qwen3();
  EXPECT_THAT(config_differences(disk_, golden_folder("moe"), config), testing::IsEmpty());

  config.rms_norm_eps = 0.5;
  config.rope.theta = 77.0;

  EXPECT_THAT(
      config_differences(disk_, golden_folder("moe"), config),
      testing::ElementsAre(testing::AllOf(HasSubstr("config.json says rms_norm_eps = "), HasSubstr("0.5")),
                           testing::AllOf(HasSubstr("rope_parameters"), HasSubstr("77"))));
  EXPECT_THAT(config_differences(disk_, folder_, config), testing::IsEmpty()) << "no config.json";
}

TEST_F(HuggingFaceFolder, KnowsTheEndsOfItsGenerationConfigToo) {
  const LoadedModel model = load_hugging_face_model(disk_, golden_folder("moe"));
  const TensorMap parameters = parameters_of(*model.stage);
  export_hugging_face(disk_, folder_, *model.config, HeldTensors(parameters), {{3}, {}, {}});
  write_text(disk_, folder_ + "/generation_config.json", R"({"eos_token_id": [3, 7]})");

  const LoadedModel again = load_hugging_face_model(disk_, folder_);

  EXPECT_THAT(again.config->eos_token_ids, testing::ElementsAre(3, 7));
}

TEST_F(HuggingFaceFolder, RefusesWeightsOfAnotherModel) {
  Qwen3Config config = golden_model("moe").qwen3();
  config.num_hidden_layers = 3;
  const auto stage = config.build_stage({}, {});

  EXPECT_THAT(error_of([&] {
                load_hugging_face_weights(disk_, golden_folder("moe"), config, {}, stage->parameters());
              }),
              HasSubstr("model.layers.2."));
}

}  // namespace
}  // namespace d9d::test
