// Heads for classes and vectors; see tests/golden/heads/origin.md.
#include "runtime/nn/block/pooled_heads.hpp"

#include <ATen/TensorOperators.h>

#include <set>

#include "runtime/nn/model/generating_stage.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "tests/runtime/task/head_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

using PooledHeads = Heads;

TEST_F(PooledHeads, SeveralShareOneBody) {
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
  EXPECT_THAT(error_of([&] { export_hugging_face(disk_, folder_, *model, HeldTensors({})); }),
              HasSubstr("several heads"));
}

// Mod10: padding at the end of a row is not seen.
TEST_F(PooledHeads, ReadTokensThatSeeThoseAfterThemAsTransformersDoes) {
  const std::string name = "heads/embedding_both_ways";
  const TensorMap expect = read_safetensors(golden_folder(name) + "/expect.safetensors");
  const auto model = model_with(name, normalised);
  model->hidden_states = HiddenStateSummary::mean;
  const auto stage = loaded(*model, name);

  const TensorMap outputs =
      stage->forward({{"input_ids", expect.at("input_ids")}},
                     {{"pooling_mask", expect.at("pooling_mask")},
                      {"hidden_states_agg_mask", expect.at("hidden_states_agg_mask")},
                      {"token_mask", expect.at("hidden_states_agg_mask").to(at::kBool)}});
  const at::Tensor& means = outputs.at("hidden_states_snapshot");
  run_backward((outputs.at("embeddings") * expect.at("factor")).sum() + means[1].square().sum());

  EXPECT_LT(relative_difference(outputs.at("embeddings"), expect.at("embeddings")), 1e-5);
  EXPECT_LT(relative_difference(means.narrow(0, 0, 2), expect.at("means")), 1e-5);
  expect_gradients(*stage, expect, "model.");
  EXPECT_THAT(error_of(
                  [&] {
                    dynamic_cast<GeneratingStage&>(*stage).make_cache({1, 8});
                  },
                  ErrorKind::input),
              HasSubstr("is_causal false"));
}

TEST_F(PooledHeads, DropTheirInputOnlyInTraining) {
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

}  // namespace
}  // namespace d9d::test
