// Which files of a folder are the model: as transformers takes them, or a refusal that names what is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_index.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::Scratch;
using test::write_folder;
using testing::AllOf;
using testing::HasSubstr;

class ModelChoiceOf : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text = "x") {
    std::ofstream(scratch_.path() + "/" + name, std::ios::binary) << text;
  }
  // Another model's, of two files.
  void write_sharded() {
    write_folder(disk_, scratch_.path(), {{"old", counting({8})}, {"older", counting({8})}}, 40);
  }
  void write_single() {
    const Scratch other;
    write_folder(disk_, other.path(), {{"new", counting({4})}});
    std::filesystem::copy(other.path() + "/model.safetensors", scratch_.path() + "/model.safetensors");
  }
  std::string error_of_folder() {
    return error_of([&] { choose_model_files(disk_, scratch_.path()); });
  }

  const Scratch scratch_;
  test::QuickDisk disk_;
};

TEST_F(ModelChoiceOf, AStaleIndexBesideAWholeFileTakesTheFileAndSaysSo) {
  write_sharded();
  write_single();
  std::filesystem::remove(scratch_.path() + "/model-00002-of-00002.safetensors");

  const ModelFiles files(disk_, scratch_.path());

  EXPECT_EQ(files.names(), Names{"new"});
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_THAT(files.notes().front(),
              AllOf(HasSubstr("model.safetensors.index.json names model-00002-of-00002"),
                    HasSubstr("model.safetensors is taken")));
}

TEST_F(ModelChoiceOf, TwoWholeModelsIsNone) {
  write_sharded();
  write_single();

  EXPECT_THAT(error_of_folder(), AllOf(HasSubstr("holds two models"), HasSubstr("model.safetensors, which"),
                                       HasSubstr("model.safetensors.index.json")));
}

TEST_F(ModelChoiceOf, AnIndexOfTheWholeFileIsNoSecondModel) {
  write_single();
  write("model.safetensors.index.json", R"({"weight_map": {"new": "model.safetensors"}})");

  EXPECT_EQ(ModelFiles(disk_, scratch_.path()).names(), Names{"new"});
}

TEST_F(ModelChoiceOf, AnIndexWithoutItsFilesNamesThem) {
  write_sharded();
  std::filesystem::remove(scratch_.path() + "/model-00001-of-00002.safetensors");

  EXPECT_THAT(error_of_folder(), AllOf(HasSubstr("names 1 file that is not there: model-00001-of-00002"),
                                       HasSubstr("download")));
}

TEST_F(ModelChoiceOf, WeightsOfOtherProgramsAreNamedWithARemedy) {
  const auto error_with = [&](const std::string& name) {
    write(name);
    const std::string text = error_of_folder();
    std::filesystem::remove(scratch_.path() + "/" + name);
    EXPECT_THAT(text, AllOf(HasSubstr("holds neither"), HasSubstr(name)));
    return text;
  };

  EXPECT_THAT(error_with("pytorch_model.bin"), HasSubstr("save_pretrained()"));
  EXPECT_THAT(error_with("pytorch_model-00001-of-00002.bin"), HasSubstr("save_pretrained()"));
  EXPECT_THAT(error_with("consolidated.safetensors"), HasSubstr("names of its maker's own"));
  EXPECT_THAT(error_with("consolidated.00.pth"), HasSubstr("Meta"));
  EXPECT_THAT(error_with("model-q4_k_m.gguf"), HasSubstr("is GGUF"));
  EXPECT_THAT(error_with("model.fp16.safetensors"), HasSubstr("rename it to model.safetensors"));
  EXPECT_THAT(error_with("model-00001-of-00002.safetensors"), HasSubstr("without its index"));
  EXPECT_THAT(error_with("adapter_model.safetensors"), HasSubstr("base model"));
  EXPECT_THAT(error_with("tf_model.h5"), HasSubstr("TensorFlow"));
}

TEST_F(ModelChoiceOf, AFolderOneFurtherDownIsNamed) {
  write_folder(disk_, scratch_.path() + "/snapshots/abc", {{"a", counting({4})}});
  EXPECT_THAT(error_of_folder(), HasSubstr("snapshots/abc is the folder of a model"));

  write_folder(disk_, scratch_.path() + "/fp32", {{"a", counting({4})}});
  EXPECT_THAT(error_of_folder(), HasSubstr("fp32 is the folder of a model"));
}

TEST_F(ModelChoiceOf, IntegersAreNoFloatingPointWeights) {
  const TensorMap state{
      {"a", counting({4})}, {"b", counting({4}).to(at::kInt)}, {"c", counting({4}).to(at::kBool)}};
  write_folder(disk_, scratch_.path(), state);
  TensorMap wanted = state;
  for (auto& [name, tensor] : wanted) tensor = at::zeros({4});
  const MapperPtr mapper = identities({"a", "b", "c"});

  const auto of_load = error_of([&] { load_model_state(disk_, scratch_.path(), mapper, wanted); });
  const auto of_check = error_of([&] {
    check_model_state(disk_, scratch_.path(), mapper, {{"a", {4}}, {"b", {4}}, {"c", {4}}});
  });

  for (const auto& text : {of_load, of_check})
    EXPECT_THAT(text,
                AllOf(HasSubstr("/model.safetensors: "), HasSubstr(" is "), HasSubstr("original weights")));
  wanted.at("b") = at::zeros({4}, at::TensorOptions(at::kInt));
  wanted.at("c") = at::zeros({4}, at::TensorOptions(at::kBool));
  load_model_state(disk_, scratch_.path(), mapper, wanted);
  EXPECT_EQ(wanted.at("b").sum().item<int>(), state.at("b").sum().item<int>());
}

TEST_F(ModelChoiceOf, PackedWeightsNameWhoPackedThem) {
  write_folder(disk_, scratch_.path(),
               {{"a.weight", counting({4})}, {"b.qweight", counting({4}).to(at::kInt)}});

  const auto text = error_of([&] {
    load_model_state(disk_, scratch_.path(), identities({"a.weight"}),
                     TensorMap{{"a.weight", at::zeros({4})}});
  });

  EXPECT_THAT(text, AllOf(HasSubstr("quantised by GPTQ or AWQ (b.qweight)"), HasSubstr("original weights")));
}

}  // namespace
}  // namespace d9d
