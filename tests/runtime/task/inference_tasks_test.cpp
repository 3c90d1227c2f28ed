#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "runtime/task/result/result_tensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class InferenceTasksTest : public ::testing::Test {
 protected:
  std::string written() { return read_whole_file(folder_.path() / "results" / "00003.jsonl"); }
  // Two samples of three tokens; the first one counts two of them, the second one none.
  static TensorMap batch() {
    at::Tensor labels = at::full({2, 3}, ignored_label, at::kLong);
    labels[0][1].fill_(5);
    labels[0][2].fill_(6);
    return {{"input_ids", at::arange(6, at::kLong).view({2, 3})}, {"labels", labels}};
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<ResultSink> lines_ = make_results({folder_.path() / "results", 3}, ResultFormat::jsonl);
};

TEST_F(InferenceTasksTest, CausalLmWritesTheMeanLossOfEachSample) {
  CausalLmInference task(lines_);
  const TensorMap given = batch();
  const ForwardInputs made = task.build_forward_inputs({1, 0, given});
  const TensorMap outputs{{"cross_entropy", at::tensor({0.0F, 1.5F, 2.5F, 0.0F, 0.0F, 0.0F}).view({2, 3})}};

  task.process_outputs({1, 0, outputs, made.state, {40, 41}});
  task.process_outputs({1, 1, outputs, made.state, {42, -1}});
  task.flush();

  EXPECT_EQ(written(), R"({"sample":40,"loss":2.0,"tokens":2})"
                       "\n"
                       R"({"sample":41,"loss":null,"tokens":0})"
                       "\n"
                       R"({"sample":42,"loss":2.0,"tokens":2})"
                       "\n");
}

TEST_F(InferenceTasksTest, CausalLmMakesLossesOfLogitsToo) {
  const auto kept = std::make_shared<ResultTensors>();
  CausalLmInference task(kept, {.token_losses = true, .logits = true});
  const TensorMap given = batch();
  const ForwardInputs made = task.build_forward_inputs({1, 0, given});
  EXPECT_FALSE(made.shared.contains("labels")) << "a stage that gets labels makes losses instead of logits";
  const TensorMap outputs{{"logits", at::zeros({2, 3, 8})}};

  task.process_outputs({1, 0, outputs, made.state, {40, 41}});
  task.flush();
  const TensorMap rows = kept->take();

  EXPECT_EQ(rows.at("logits").sizes(), (std::vector<std::int64_t>{2, 3, 8}));
  EXPECT_EQ(rows.at("token_loss")[0][0].item<float>(), 0);
  EXPECT_NEAR(rows.at("token_loss")[0][1].item<float>(), std::log(8), 1e-6);
  EXPECT_NEAR(rows.at("loss")[0].item<double>(), std::log(8), 1e-6);
  EXPECT_TRUE(std::isnan(rows.at("loss")[1].item<double>())) << "none of its tokens counts";
  EXPECT_EQ(rows.at("tokens")[0].item<std::int64_t>(), 2);
}

TEST_F(InferenceTasksTest, ClassificationWritesAClassForEachLabel) {
  ClassificationInference task(lines_);
  const TensorMap given = batch();
  const ForwardInputs made = task.build_forward_inputs({1, 0, given});
  const TensorMap outputs{{"logits", at::tensor({0.0F, 0.0F, 100.0F, 100.0F, 0.0F, 0.0F}).view({2, 3})}};

  task.process_outputs({1, 0, outputs, made.state, {7, 8}});
  task.process_outputs({1, 1, outputs, made.state, {-1, 9}});
  task.finalize();

  EXPECT_EQ(written(), R"({"sample":7,"position":1,"class":2,"probability":1.0})"
                       "\n"
                       R"({"sample":7,"position":2,"class":0,"probability":1.0})"
                       "\n");
}

TEST_F(InferenceTasksTest, ClassificationSaysWhereInTheSampleATokenOfASharedOneStands) {
  ClassificationInference task(lines_);
  TensorMap given = batch();
  given["places_in_rows"] = at::tensor({2, 3, 8}, at::kLong);
  const ForwardInputs made = task.build_forward_inputs({1, 0, given});
  const TensorMap outputs{{"logits", at::zeros({2, 2})}};

  task.process_outputs({1, 0, outputs, made.state, {40, 41}});
  task.flush();

  EXPECT_EQ(written(), R"({"sample":40,"position":3,"class":0,"probability":0.5})"
                       "\n"
                       R"({"sample":40,"position":8,"class":0,"probability":0.5})"
                       "\n");
}

TEST_F(InferenceTasksTest, ClassificationByOneScoreWritesTheScore) {
  ClassificationInference task(lines_);
  const TensorMap given = batch();
  const ForwardInputs made = task.build_forward_inputs({1, 0, given});

  task.process_outputs({1, 0, {{"logits", at::tensor({0.5F, -2.0F}).view({2, 1})}}, made.state, {7, 8}});
  task.finalize();

  EXPECT_EQ(written(), R"({"sample":7,"position":1,"score":0.5})"
                       "\n"
                       R"({"sample":7,"position":2,"score":-2.0})"
                       "\n");
}

}  // namespace
}  // namespace d9d
