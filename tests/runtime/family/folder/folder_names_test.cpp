#include "runtime/family/folder/folder_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace d9d {
namespace {

const Names usual{"lm_head.weight", "model.embed_tokens.weight", "model.layers.0.mlp.up_proj.weight",
                  "model.norm.weight"};

std::string replaced(std::string name, const std::string& from, const std::string& to) {
  if (name.starts_with(from)) name.replace(0, from.size(), to);
  return name;
}

Names with(const std::string& prefix, const std::string& from = "") {
  Names names;
  for (const std::string& name : usual) names.insert(replaced(name, from, prefix));
  return names;
}

void expect_usual(const Names& stored, const std::string& of_norm) {
  const FolderNames folder(stored, false);
  EXPECT_EQ(folder.names(), usual);
  EXPECT_TRUE(folder.of_other_parts().empty());
  EXPECT_EQ(folder.in_folder("model.norm.weight"), of_norm);
  for (const std::string& name : folder.names()) EXPECT_TRUE(stored.contains(folder.in_folder(name))) << name;
}

TEST(FolderNames, OfTransformersStayAsTheyAre) {
  expect_usual(usual, "model.norm.weight");
}

TEST(FolderNames, OfEncodersHaveVocabularyAndHeadsOfDecoders) {
  const Names names{"model.embed_tokens.weight", "model.layers.0.mlp.Wo.weight", "model.final_norm.weight",
                    "lm_head.bias", "score.weight"};
  const FolderNames whole({"model.embeddings.tok_embeddings.weight", "model.layers.0.mlp.Wo.weight",
                           "model.final_norm.weight", "decoder.bias", "classifier.weight"},
                          true);
  const FolderNames body({"embeddings.tok_embeddings.weight", "layers.0.mlp.Wo.weight", "final_norm.weight"},
                         true);

  EXPECT_EQ(whole.names(), names);
  EXPECT_EQ(whole.in_folder("lm_head.bias"), "decoder.bias");
  EXPECT_EQ(whole.in_folder("model.embed_tokens.weight"), "model.embeddings.tok_embeddings.weight");
  EXPECT_EQ(body.names(),
            Names({"model.embed_tokens.weight", "model.layers.0.mlp.Wo.weight", "model.final_norm.weight"}));
  EXPECT_EQ(body.in_folder("model.embed_tokens.weight"), "embeddings.tok_embeddings.weight");
  // The names of another model stay.
  EXPECT_EQ(FolderNames({"model.embed_tokens.weight", "decoder.bias"}, true).in_folder("decoder.bias"),
            "decoder.bias");
}

TEST(FolderNames, LoseTheWrappersOfAWholeModel) {
  expect_usual(with("module."), "module.model.norm.weight");
  expect_usual(with("_orig_mod."), "_orig_mod.model.norm.weight");
  expect_usual(with("module._orig_mod."), "module._orig_mod.model.norm.weight");
  expect_usual(with("_orig_mod.module."), "_orig_mod.module.model.norm.weight");
  expect_usual(with("base_model.model."), "base_model.model.model.norm.weight");
}

TEST(FolderNames, LoseTheWrappersOfPartsOfIt) {
  expect_usual(with("model._orig_mod.", "model."), "model._orig_mod.norm.weight");
  Names checkpointed = usual;
  checkpointed.erase("model.layers.0.mlp.up_proj.weight");
  checkpointed.insert("model.layers.0._checkpoint_wrapped_module.mlp.up_proj.weight");
  expect_usual(checkpointed, "model.norm.weight");
}

TEST(FolderNames, OfAModelWithoutItsPrefixGetIt) {
  expect_usual(with("", "model."), "norm.weight");
}

TEST(FolderNames, OfATextModelStandApartFromOtherParts) {
  for (const std::string& prefix : std::vector<std::string>{
           "model.language_model.", "model.language_model.model.", "language_model.model."}) {
    Names stored = with(prefix, "model.");
    stored.insert({"vision_tower.layers.0.weight", "model.multi_modal_projector.norm.weight"});

    const FolderNames folder(stored, false);

    EXPECT_EQ(folder.names(), usual);
    EXPECT_EQ(folder.in_folder("model.norm.weight"), prefix + "norm.weight");
    EXPECT_EQ(folder.of_other_parts(),
              (Names{"model.multi_modal_projector.norm.weight", "vision_tower.layers.0.weight"}));
  }
}

TEST(FolderNames, OfATextModelsOwnHeadAreTheHead) {
  const FolderNames folder(with("language_model.", ""), false);

  EXPECT_EQ(folder.names(), usual);
  EXPECT_EQ(folder.in_folder("lm_head.weight"), "language_model.lm_head.weight");
}

TEST(FolderNames, OfATiedTensorMayBeTheHeadsAlone) {
  Names stored = with("module.");
  stored.erase("module.model.embed_tokens.weight");

  const FolderNames tied(stored, true), untied(stored, false);

  EXPECT_EQ(tied.in_folder("model.embed_tokens.weight"), "module.lm_head.weight");
  EXPECT_FALSE(tied.names().contains("lm_head.weight"));
  EXPECT_TRUE(untied.names().contains("lm_head.weight"));
  EXPECT_FALSE(untied.names().contains("model.embed_tokens.weight"));
}

TEST(FolderNames, SayWhatTheFolderWouldCallATensorThatItLacks) {
  EXPECT_EQ(FolderNames(with("", "model."), false).in_folder("model.layers.7.x"), "layers.7.x");
}

}  // namespace
}  // namespace d9d
