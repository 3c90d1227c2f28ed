#include "runtime/report/numbers/readable_names.hpp"

#include <gtest/gtest.h>

namespace d9d::report {
namespace {

TEST(ReadableNames, AreWords) {
  EXPECT_EQ(readable_name("grad_norm"), "Gradient norm");
  EXPECT_EQ(readable_name("metrics/perplexity"), "Perplexity");
  EXPECT_EQ(readable_name("evaluation/loss"), "Loss of the evaluation");
  EXPECT_EQ(readable_name("evaluation/metrics/perplexity"), "Perplexity of the evaluation");
  EXPECT_EQ(readable_name("evaluation/seconds"), "Time of an evaluation, s");
  EXPECT_EQ(readable_name("metrics/F1 score"), "F1 score");
  EXPECT_EQ(readable_name("skipped_steps"), "Skipped steps");
  EXPECT_EQ(readable_name("metrics/expert_load/layer_0/min"), "Expert load/layer 0/min");
  EXPECT_EQ(readable_name(""), "");
}

TEST(ReadableNames, KnowTheNumberOfTraining) {
  EXPECT_EQ(evaluated_name("evaluation/metrics/accuracy"), "metrics/accuracy");
  EXPECT_EQ(evaluated_name("loss"), "");
}

}  // namespace
}  // namespace d9d::report
