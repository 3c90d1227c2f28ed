// The means of hidden states against transformers, see tests/golden/heads/origin.md, and over stages.
#include "runtime/nn/model/hidden_states.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tests/runtime/task/head_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

using HiddenStates = Heads;

TEST_F(HiddenStates, AreSummarisedAsTransformersGivesThemBesideAnEmbedding) {
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

TEST_F(HiddenStates, TravelOverStagesWithTheirSummary) {
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

TEST_F(HiddenStates, NeedTheMaskOfTheirSummary) {
  const auto model = model_with("heads/embedding", normalised);
  model->hidden_states = HiddenStateSummary::mean;
  const auto stage = loaded(*model, "heads/embedding");

  EXPECT_THAT(error_of([&] {
                stage->forward({{"input_ids", at::zeros({1, 4}, at::kLong)}}, {});
              }),
              HasSubstr("the task gives no hidden_states_agg_mask"));
}

}  // namespace
}  // namespace d9d::test
