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
