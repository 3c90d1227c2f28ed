// The built-in task on a classifier of transformers, see tests/golden/heads/origin.md.
#include "runtime/task/classification_task.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/aggregation.hpp"
#include "tests/runtime/task/head_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using ClassifyingTask = Heads;

TEST_F(ClassifyingTask, ComputesWhatTransformersDoes) {
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
      expect.at("logits").argmax(-1).eq(expect.at("classes")).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(metrics.get<WeightedMean>("accuracy").compute()[0].second, right, 1e-12);
  expect_gradients(*stage, expect, "");
}

// Of a plugin's model: the cross entropy of one score is 0, whatever the score is.
TEST(ClassificationOfOneScore, IsRefused) {
  const TensorMap outputs{{"logits", at::zeros({2, 1})}}, state{{"classes", at::zeros({2}, at::kLong)}};

  EXPECT_THAT(error_of(
                  [&] {
                    ClassificationTask().compute_loss({1, 0, outputs, state});
                  },
                  ErrorKind::input),
              testing::HasSubstr("one score for each label that is read, so the loss is 0"));
}

// log 2 has more than the eight bits of bfloat16.
TEST(ClassificationOfNarrowScores, IsSummedInFp32) {
  const at::Tensor narrow = at::full({4, 2}, 0.5, at::kBFloat16);
  const TensorMap outputs{{"logits", narrow}}, state{{"classes", at::zeros({4}, at::kLong)}};

  const Loss loss = ClassificationTask().compute_loss({1, 0, outputs, state});

  EXPECT_EQ(loss.loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.loss.item<double>(), std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace d9d::test
