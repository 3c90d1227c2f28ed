#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/data/sample_source.hpp"
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
  InferencePlace place_{folder_.path() / "results", 3};
};

TEST_F(InferenceTasksTest, CausalLmWritesTheMeanLossOfEachSample) {
  CausalLmInference task(place_);
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

TEST_F(InferenceTasksTest, ClassificationWritesAClassForEachLabel) {
  ClassificationInference task(place_);
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

}  // namespace
}  // namespace d9d
