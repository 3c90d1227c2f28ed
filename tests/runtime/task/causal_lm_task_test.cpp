#include "runtime/task/causal_lm_task.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/data/next_tokens.hpp"
#include "runtime/metric/aggregation.hpp"

namespace d9d::test {
namespace {

TensorMap batch_of_one() {
  const at::Tensor ids = at::tensor({5, 6, 7}, at::kLong).unsqueeze(0);
  return {{"input_ids", ids}, {"labels", at::tensor({6, 7, 8}, at::kLong).unsqueeze(0)}};
}

TEST(CausalLmTask, HandsOnTheTokensBehindEachToken) {
  TensorMap batch = batch_of_one();
  add_next_tokens(batch, 1);

  const ForwardInputs forward = CausalLmTask(1).build_forward_inputs({1, 0, batch});

  EXPECT_TRUE(forward.shared.at("next_ids").is_same(batch.at("next_ids")));
  EXPECT_TRUE(forward.shared.at("next_labels").is_same(batch.at("next_labels")));
  EXPECT_FALSE(CausalLmTask().build_forward_inputs({1, 0, batch_of_one()}).shared.contains("next_ids"));
}

// Of four tokens the last two have labels; each of two ranks has two.
TEST(CausalLmTask, LosesNoFurtherLossOfARankWithoutALabel) {
  const at::Tensor whole = at::tensor({-100, -100, 7, 8}, at::kLong).unsqueeze(0);
  const TensorMap outputs{{"cross_entropy", at::tensor({0.0F, 3.0F}).unsqueeze(0)}};
  const auto loss_of = [&](std::int64_t begin, std::int64_t predicted) {
    TensorMap batch{{"input_ids", whole}, {"labels", whole}};
    add_next_tokens(batch, predicted);
    for (const char* name : {"input_ids", "labels"}) batch[name] = batch[name].narrow(1, begin, 2);
    const CausalLmTask task(predicted);
    return task.compute_loss({1, 0, outputs, task.build_forward_inputs({1, 0, batch}).state});
  };

  for (const std::int64_t begin : {0, 2}) {
    const Loss loss = loss_of(begin, 1);
    EXPECT_EQ(loss.weight, 1) << "half of two labels";
    EXPECT_EQ(loss.loss.item<float>(), 3);
  }
  EXPECT_EQ(loss_of(0, 0).weight, 0);
  EXPECT_EQ(loss_of(2, 0).weight, 2);
  EXPECT_EQ(loss_of(2, 0).loss.item<float>(), 1.5);
}

TEST(CausalLmTask, CountsTheLossOfEachDepthByItsTokens) {
  const CausalLmTask task(2);
  Compose metrics;
  task.create_metrics(metrics);
  const TensorMap state{{"num_tokens", at::full({}, 3, at::kLong)}};
  const auto count = [&](const at::Tensor& depth_losses) {
    const TensorMap outputs{{"depth_losses", depth_losses}};
    task.update_metrics({1, 0, outputs, state}, metrics);
  };

  count(at::tensor({6.0F, 3.0F, 8.0F, 2.0F, 0.0F, 0.0F}).view({3, 2}));
  count(at::tensor({12.0F, 3.0F, 5.0F, 3.0F, 0.0F, 0.0F}).view({3, 2}));

  const auto mean_of = [&](const char* name) { return metrics.get<WeightedMean>(name).compute()[0].second; };
  EXPECT_DOUBLE_EQ(mean_of("loss_of_depth_0"), 3);
  EXPECT_NEAR(mean_of("loss_of_depth_1"), 2.6, 1e-6);
  EXPECT_TRUE(std::isnan(mean_of("loss_of_depth_2")));
}

}  // namespace
}  // namespace d9d::test
