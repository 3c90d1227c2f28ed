// Against transformers; see tests/golden/modernbert/origin.md.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/base/error.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/nn/model/generating_stage.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

// A golden case with another head, whose folder names its tensors for it.
GoldenModel modernbert_with(const std::string& name, const HeadOptions& head) {
  return golden_model("modernbert/" + name, [&](FamilyModel& model) { model.heads = {{"", head}}; });
}

void expect_gradients(const GoldenModel& golden, StageModule& stage) {
  const TensorMap gradients = gradients_of(stage);
  std::size_t expected = 0;
  for (const auto& [name, tensor] : golden.expect) expected += name.starts_with("grad.") ? 1 : 0;
  EXPECT_EQ(gradients.size(), expected);
  for (const auto& [name, gradient] : gradients)
    EXPECT_LT(relative_difference(gradient, golden.expect.at("grad." + name)), 1e-4) << name;
}

TEST(ModernBertModel, LossesAndGradientsOfFilledRowsAreThoseOfTransformers) {
  const GoldenModel golden = golden_model("modernbert/modernbert_padded");
  const auto stage = stage_of(golden);
  const at::Tensor mask = golden.expect.at("token_mask"), labels = golden.labels.at("labels");

  const at::Tensor logits =
      stage->forward(golden.inputs, {{"token_mask", mask}}).at("logits") * mask.unsqueeze(-1);
  const at::Tensor loss =
      stage->forward(golden.inputs, {{"labels", labels}, {"token_mask", mask}}).at("cross_entropy");
  run_backward(mean_loss(loss, labels));

  EXPECT_LT(relative_difference(logits, golden.expect.at("logits") * mask.unsqueeze(-1)), 1e-5);
  EXPECT_LT(relative_difference(loss, golden.expect.at("token_loss")), 1e-5);
  expect_gradients(golden, *stage);
}

TEST(ModernBertModel, ClassesAreThoseOfTransformers) {
  const GoldenModel golden = modernbert_with("classifier", ClassificationHead{.num_labels = 3});
  const auto stage = stage_of(golden);
  const at::Tensor first = at::zeros(golden.expect.at("input_ids").sizes(), at::kLong);
  first.select(1, 0).fill_(1);

  const at::Tensor logits =
      stage->forward(golden.inputs, {{"token_mask", golden.expect.at("token_mask")}, {"pooling_mask", first}})
          .at("logits");
  const at::Tensor classes = golden.labels.at("labels").select(1, 0);
  run_backward(at::cross_entropy_loss(logits, classes));

  EXPECT_LT(relative_difference(logits, golden.expect.at("logits")), 1e-5);
  expect_gradients(golden, *stage);
}

TEST(ModernBertModel, HiddenStatesAreThoseOfTransformers) {
  const GoldenModel golden = modernbert_with("body", EmbeddingHead{});
  const auto stage = stage_of(golden);
  const at::Tensor mask = golden.expect.at("token_mask");

  const at::Tensor vectors =
      stage->forward(golden.inputs, {{"token_mask", mask}}).at("embeddings") * mask.unsqueeze(-1);
  run_backward((vectors * golden.expect.at("direction")).sum());

  EXPECT_LT(relative_difference(vectors, golden.expect.at("embeddings") * mask.unsqueeze(-1)), 1e-5);
  expect_gradients(golden, *stage);
}

TEST(ModernBertModel, RefusesToGenerate) {
  const auto stage = stage_of(golden_model("modernbert/modernbert_full"));

  EXPECT_THAT(error_of([&] { dynamic_cast<GeneratingStage&>(*stage).make_cache({}); }, ErrorKind::input),
              testing::HasSubstr("cannot generate a text token by token"));
}

}  // namespace
}  // namespace d9d::test
