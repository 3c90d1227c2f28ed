// The task on a model of one label by transformers, see tests/golden/heads/origin.md.
#include "runtime/task/regression_task.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <fstream>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/aggregation.hpp"
#include "tests/runtime/task/head_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

const HeadMap one_score{{"", ClassificationHead{.num_labels = 1}}};

class Regressing : public Heads {
 protected:
  Loss loss_of(StageModule& stage, const TensorMap& batch) {
    const ForwardInputs forward = task_.build_forward_inputs({1, 0, batch});
    const TensorMap outputs = stage.forward(forward.inputs, forward.shared);
    task_.update_metrics({1, 0, outputs, forward.state}, metrics_);
    return task_.compute_loss({1, 0, outputs, forward.state});
  }
  void SetUp() override { task_.create_metrics(metrics_); }

  const RegressionTask task_;
  Compose metrics_;
  const TensorMap expect_ = read_safetensors(golden_folder("heads/regressor") + "/expect.safetensors");
};

TEST_F(Regressing, ComputesWhatTransformersDoesOfOneLabel) {
  const auto stage = loaded(*model_with("heads/regressor", one_score), "heads/regressor");
  const at::Tensor reads = expect_.at("pooling_mask").eq(1);
  const at::Tensor labels = at::full_like(expect_.at("input_ids"), ignored_label).masked_fill_(reads, 0);
  const at::Tensor targets = at::full_like(labels, 5, at::kFloat);
  targets.masked_scatter_(reads, expect_.at("targets"));

  const Loss loss =
      loss_of(*stage, {{"input_ids", expect_.at("input_ids")}, {"labels", labels}, {"targets", targets}});
  run_backward(loss.loss);

  EXPECT_NEAR(loss.loss.item<double>(), expect_.at("loss").item<double>(),
              1e-6 * expect_.at("loss").item<double>());
  EXPECT_EQ(loss.weight, 3);
  expect_gradients(*stage, expect_, "");
  const double apart = (expect_.at("logits").flatten() - expect_.at("targets")).abs().mean().item<double>();
  EXPECT_NEAR(metrics_.get<WeightedMean>("mean_absolute_error").compute()[0].second, apart, 1e-5 * apart);
}

TEST_F(Regressing, TakesIntegerLabelsAsTheNumbersThatTheyAre) {
  const at::Tensor labels =
      at::tensor({ignored_label, std::int64_t{3}, ignored_label, std::int64_t{0}}).view({2, 2});
  const ForwardInputs forward =
      task_.build_forward_inputs({1, 0, {{"input_ids", at::zeros({2, 2}, at::kLong)}, {"labels", labels}}});

  const Loss loss =
      task_.compute_loss({1, 0, {{"logits", at::tensor({1.0F, 2.0F}).view({2, 1})}}, forward.state});

  EXPECT_EQ(loss.loss.item<float>(), (4.0F + 4.0F) / 2);
}

// Torch would spread one over the other.
TEST_F(Regressing, RefusesTargetsAndScoresOfOtherShapes) {
  const at::Tensor ids = at::zeros({2, 2}, at::kLong);
  const auto refusal = [&](const at::Tensor& targets, const at::Tensor& scores) {
    return error_of([&] {
      const ForwardInputs forward =
          task_.build_forward_inputs({1, 0, {{"input_ids", ids}, {"labels", ids}, {"targets", targets}}});
      task_.compute_loss({1, 0, {{"logits", scores}}, forward.state});
    });
  };

  EXPECT_THAT(refusal(at::zeros({1, 2}), at::zeros({4, 1})),
              HasSubstr("targets have shape [1, 2] and its labels [2, 2]"));
  EXPECT_THAT(refusal(at::zeros({2, 2}), at::zeros({4, 4})),
              HasSubstr("scores of shape [4, 4] for 4 targets"));
  EXPECT_EQ(refusal(at::zeros({2, 2}), at::zeros({4, 1})), "no error");
}

TEST_F(Regressing, CountsNothingWhereNoTokenHasALabel) {
  const at::Tensor labels = at::full_like(at::zeros({2, 2}, at::kLong), ignored_label);
  const ForwardInputs forward =
      task_.build_forward_inputs({1, 0, {{"input_ids", at::zeros({2, 2}, at::kLong)}, {"labels", labels}}});

  const Loss loss = task_.compute_loss({1, 0, {{"logits", at::zeros({0, 1})}}, forward.state});

  EXPECT_EQ(loss.weight, 0);
  EXPECT_EQ(loss.loss.item<float>(), 0);
}

// What a folder's scores have learnt is no other problem's beginning.
TEST_F(Regressing, RefusesAFolderOfAnotherProblem) {
  const auto folder_of = [&](const char* problem) {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(golden_folder("heads/regressor"), folder_);
    auto config = nlohmann::json::parse(read_text(disk_, folder_ + "/config.json", 1 << 20));
    config["problem_type"] = problem;
    std::ofstream(folder_ + "/config.json") << config;
    return error_of(
        [&] { check_hugging_face_weights(disk_, folder_, *model_with("heads/regressor", one_score)); });
  };

  EXPECT_EQ(folder_of("regression"), "no error");
  EXPECT_THAT(
      folder_of("multi_label_classification"),
      HasSubstr("problem_type is multi_label_classification, but model_provider.head of the job learns "
                "regression; texts of several labels are not supported"));
}

}  // namespace
}  // namespace d9d::test
