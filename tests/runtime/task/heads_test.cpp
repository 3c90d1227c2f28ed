// Heads against transformers, see tests/golden/heads/origin.md, and their folders.
#include <gmock/gmock.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/task/classification_task.hpp"
#include "runtime/task/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/held_tensors.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class Heads : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The golden model's body with this head, as a job would describe it.
  std::shared_ptr<FamilyModel> model_with(const std::string& name, const HeadMap& heads) const {
    auto config = nlohmann::json::parse(read_text(disk_, golden_folder(name) + "/config.json", 1 << 20));
    config.erase("architectures");
    auto model = parse_hugging_face_config(config.dump(), name);
    model->heads = heads;
    return model;
  }
  std::unique_ptr<StageModule> loaded(const FamilyModel& model, const std::string& name) const {
    auto stage = model.build_stage({}, {});
    load_hugging_face_weights(disk_, golden_folder(name), model, {}, stage->parameters());
    zero_gradients(*stage);
    return stage;
  }

  PosixDisk disk_;
  std::string folder_ = testing::TempDir() + "d9d_heads_" + std::to_string(::getpid());
};

const HeadMap classifier{{"", ClassificationHead{3, 0}}};
const HeadMap normalised{{"", EmbeddingHead{{}, true}}};

void expect_gradients(StageModule& stage, const TensorMap& expect, const std::string& prefix) {
  for (const auto& [name, gradient] : gradients_of(stage)) {
    const std::string theirs = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    EXPECT_LT(relative_difference(gradient, expect.at("grad." + theirs)), 1e-4) << name;
  }
}

TEST_F(Heads, AClassifierIsThatOfTransformersByTheBuiltInTask) {
  const TensorMap expect = read_safetensors(golden_folder("heads/classifier") + "/expect.safetensors");
  const auto stage = loaded(*model_with("heads/classifier", classifier), "heads/classifier");
  at::Tensor labels = at::full_like(expect.at("input_ids"), ignored_label);
  labels.masked_scatter_(expect.at("pooling_mask").eq(1), expect.at("classes"));
  const TensorMap batch{{"input_ids", expect.at("input_ids")}, {"labels", labels}};
  const ClassificationTask task;
  Compose metrics;
  task.create_metrics(metrics);

  const ForwardInputs forward = task.build_forward_inputs({1, 0, batch});
  const TensorMap outputs = stage->forward(forward.inputs, forward.shared);
  const Loss loss = task.compute_loss({1, 0, outputs, forward.state});
  task.update_metrics({1, 0, outputs, forward.state}, metrics);
  run_backward(loss.loss);

  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5);
  EXPECT_EQ(outputs.at("logits").scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.loss.item<double>(), expect.at("loss").item<double>(),
              1e-6 * expect.at("loss").item<double>());
  EXPECT_EQ(loss.weight, 3);
  const double right =
      expect.at("logits").argmax(-1).eq(expect.at("classes")).to(at::kFloat).mean().item<double>();
  EXPECT_NEAR(metrics.get<WeightedMean>("accuracy").compute()[0].second, right, 1e-12);
  expect_gradients(*stage, expect, "");
}

TEST_F(Heads, AnEmbeddingAndTheMeansOfHiddenStatesAreThoseOfTransformers) {
  const TensorMap expect = read_safetensors(golden_folder("heads/embedding") + "/expect.safetensors");
  const auto model = model_with("heads/embedding", normalised);
  model->hidden_states = HiddenStateSummary::mean;
  const auto stage = loaded(*model, "heads/embedding");

  const TensorMap outputs = stage->forward({{"input_ids", expect.at("input_ids")}},
                                           {{"pooling_mask", expect.at("pooling_mask")},
                                            {"hidden_states_agg_mask", expect.at("hidden_states_agg_mask")}});
  const at::Tensor& snapshot = outputs.at("hidden_states_snapshot");
  const at::Tensor loss = (outputs.at("embeddings") * expect.at("factor")).sum() + snapshot[1].square().sum();
  run_backward(loss);

  EXPECT_LT(relative_difference(outputs.at("embeddings"), expect.at("embeddings")), 1e-5);
  EXPECT_EQ(snapshot.sizes(), at::IntArrayRef({3, 3, 24}));
  EXPECT_LT(relative_difference(snapshot.narrow(0, 0, 2), expect.at("means")), 1e-5);
  EXPECT_NEAR(loss.item<double>(), expect.at("loss").item<double>(),
              1e-5 * std::abs(expect.at("loss").item<double>()));
  expect_gradients(*stage, expect, "model.");
}

TEST_F(Heads, AreExportedAsTransformersLoadsThem) {
  for (const auto& [name, heads, architecture] :
       {std::tuple{"classifier", classifier, "Qwen3ForSequenceClassification"},
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
    EXPECT_EQ(config.contains("id2label"), !heads.empty() && name == std::string("classifier"));
    std::filesystem::remove_all(folder_ + name);
  }
}

TEST_F(Heads, BeginAnewOnTheBodyOfALanguageModel) {
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

TEST_F(Heads, SeveralShareOneBody) {
  const TensorMap expect = read_safetensors(golden_folder("heads/classifier") + "/expect.safetensors");
  const auto model = model_with(
      "heads/classifier",
      {{"text", CausalLmHead{}}, {"topic", ClassificationHead{3, 0.5}}, {"vector", EmbeddingHead{5, false}}});
  const auto stage = model->build_stage({}, {});
  draw_initial_weights(stage->parameters(), 1);
  stage->set_training(false);

  const TensorMap outputs =
      stage->forward({{"input_ids", expect.at("input_ids")}}, {{"pooling_mask", expect.at("pooling_mask")}});

  EXPECT_EQ(outputs.at("text.logits").sizes(), at::IntArrayRef({3, 13, 61}));
  EXPECT_EQ(outputs.at("topic.logits").sizes(), at::IntArrayRef({3, 3}));
  EXPECT_EQ(outputs.at("vector.embeddings").sizes(), at::IntArrayRef({3, 5}));
  std::set<std::string> names;
  for (const StageParameter& parameter : stage->parameters()) names.insert(parameter.name);
  EXPECT_TRUE(names.contains("lm_head.weight"));
  EXPECT_TRUE(names.contains("heads.topic.score.weight"));
  EXPECT_TRUE(names.contains("heads.vector.projection.weight"));
  try {
    export_hugging_face(disk_, folder_, *model, HeldTensors({}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("several heads"));
  }
}

TEST_F(Heads, DropTheirInputOnlyInTraining) {
  const TensorMap expect = read_safetensors(golden_folder("heads/classifier") + "/expect.safetensors");
  const auto stage =
      loaded(*model_with("heads/classifier", {{"", ClassificationHead{3, 0.5}}}), "heads/classifier");
  const auto logits = [&] {
    return stage
        ->forward({{"input_ids", expect.at("input_ids")}}, {{"pooling_mask", expect.at("pooling_mask")}})
        .at("logits");
  };

  EXPECT_GT(relative_difference(logits(), expect.at("logits")), 1e-2);
  stage->set_training(false);
  EXPECT_LT(relative_difference(logits(), expect.at("logits")), 1e-5);
}

TEST_F(Heads, TravelOverStagesWithTheSummaryOfHiddenStates) {
  const TensorMap expect = read_safetensors(golden_folder("heads/embedding") + "/expect.safetensors");
  const auto model = model_with("heads/embedding", normalised);
  model->hidden_states = HiddenStateSummary::mean;
  const auto whole = loaded(*model, "heads/embedding");
  const auto first = model->build_stage({0, 2}, {});
  const auto last = model->build_stage({1, 2}, {});
  load_hugging_face_weights(disk_, golden_folder("heads/embedding"), *model, {0, 2}, first->parameters());
  load_hugging_face_weights(disk_, golden_folder("heads/embedding"), *model, {1, 2}, last->parameters());
  const TensorMap shared{{"pooling_mask", expect.at("pooling_mask")},
                         {"hidden_states_agg_mask", expect.at("hidden_states_agg_mask")}};

  const TensorMap transfer = first->forward({{"input_ids", expect.at("input_ids")}}, shared);
  TensorMap arrived;
  for (const auto& [name, tensor] : transfer) arrived[name] = tensor.detach().requires_grad_(true);
  const TensorMap outputs = last->forward(arrived, shared);
  run_backward(outputs.at("embeddings").sum());

  const TensorMap expected = whole->forward({{"input_ids", expect.at("input_ids")}}, shared);
  EXPECT_EQ(transfer.at("hidden_states_snapshot").size(0), 2);
  EXPECT_LT(relative_difference(outputs.at("hidden_states_snapshot"), expected.at("hidden_states_snapshot")),
            1e-6);
  // A loss that does not use the snapshot still gives it a gradient, which the stage before waits for.
  EXPECT_EQ(arrived.at("hidden_states_snapshot").grad().abs().sum().item<float>(), 0);
  EXPECT_GT(arrived.at("hidden_states").grad().abs().sum().item<float>(), 0);
}

TEST_F(Heads, ASummaryNeedsItsMask) {
  const auto model = model_with("heads/embedding", normalised);
  model->hidden_states = HiddenStateSummary::mean;
  const auto stage = loaded(*model, "heads/embedding");

  try {
    stage->forward({{"input_ids", at::zeros({1, 4}, at::kLong)}}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the task gives no hidden_states_agg_mask"));
  }
}

}  // namespace
}  // namespace d9d::test
