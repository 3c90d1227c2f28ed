// Folders of models with other heads than a language model's.

#include <tuple>

#include "tests/runtime/task/head_fixture.hpp"

namespace d9d::test {
namespace {

using FoldersOfHeads = Heads;

TEST_F(FoldersOfHeads, AreExportedAsTransformersLoadsThem) {
  for (const auto& [name, heads, architecture] :
       {std::tuple{"classifier", classifier, "Qwen3ForSequenceClassification"},
        std::tuple{"regressor", HeadMap{{"", ClassificationHead{.num_labels = 1}}},
                   "Qwen3ForSequenceClassification"},
        std::tuple{"embedding", normalised, "Qwen3Model"}}) {
    const std::string golden = std::string("heads/") + name;
    const auto model = model_with(golden, heads);
    const auto stage = loaded(*model, golden);
    TensorMap parameters;
    for (const StageParameter& each : stage->parameters()) parameters[each.name] = each.tensor.detach();

    export_hugging_face(disk_, folder_ + name, *model, HeldTensors(parameters));

    const TensorMap theirs = read_safetensors(golden_folder(golden) + "/model.safetensors");
    const TensorMap ours = read_safetensors(folder_ + name + "/model.safetensors");
    EXPECT_EQ(ours.size(), theirs.size());
    for (const auto& [tensor, values] : theirs) EXPECT_TRUE(bitwise_equal(ours.at(tensor), values)) << tensor;
    const auto config = nlohmann::json::parse(read_text(disk_, folder_ + name + "/config.json", 1 << 20));
    EXPECT_EQ(config["architectures"][0], architecture);
    EXPECT_EQ(config.contains("id2label"), name != std::string("embedding"));
    EXPECT_EQ(config.value("problem_type", ""), name == std::string("regressor") ? "regression"
                                                : name == std::string("classifier")
                                                    ? "single_label_classification"
                                                    : "");
    std::filesystem::remove_all(folder_ + name);
  }
}

TEST_F(FoldersOfHeads, BeginAnewOnTheBodyOfALanguageModel) {
  const auto model = model_with("dense_tied", classifier);
  const auto stage = model->build_stage({}, {});
  std::vector<StageParameter> loaded, drawn;
  for (const StageParameter& parameter : stage->parameters()) {
    const bool anew = head_starts_anew(disk_, golden_folder("dense_tied"), *model, parameter.name);
    (anew ? drawn : loaded).push_back(parameter);
  }

  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn[0].name, "score.weight");
  EXPECT_NO_THROW(load_hugging_face_weights(disk_, golden_folder("dense_tied"), *model, {}, loaded));
  EXPECT_NO_THROW(check_hugging_face_weights(disk_, golden_folder("dense_tied"), *model));
  EXPECT_FALSE(head_starts_anew(disk_, golden_folder("heads/classifier"), *model, "score.weight"));
}

}  // namespace
}  // namespace d9d::test
