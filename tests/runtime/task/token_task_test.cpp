#include "runtime/task/token_task.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/read_microbatch.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/metric/sums_metric.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Tokens final : SumsMetric {
  Tokens() : SumsMetric(1) {}
  MetricValues compute(std::span<const double> sums) const override { return {{"", sums[0]}}; }
};

class PlainLoss final : public TokenTask {
 public:
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& labels) const override {
    return at::cross_entropy_loss(logits, labels);
  }
  void create_metrics(Compose& metrics) const override { metrics.add("tokens", std::make_unique<Tokens>()); }
  void count(const at::Tensor& logits, const at::Tensor& labels, Compose& metrics) const override {
    EXPECT_FALSE(logits.requires_grad());
    metrics.get<Tokens>("tokens").add({static_cast<double>(labels.numel())});
  }
};

class TokenTaskTest : public testing::Test {
 protected:
  TokenTaskTest() : logits_(at::rand({2, 3, 5}).requires_grad_()) {}
  Loss loss_of(const std::vector<std::int64_t>& labels) {
    const std::vector<Sample> samples{{{1, 2, 3}, {labels.begin(), labels.begin() + 3}},
                                      {{2, 3, 4}, {labels.begin() + 3, labels.end()}}};
    const TensorMap batch = make_microbatch(samples);
    const ForwardInputs made = task_.build_forward_inputs({1, 0, batch});
    EXPECT_FALSE(made.shared.contains("labels")) << "the model would keep its logits to itself";
    EXPECT_TRUE(made.shared.contains("position_ids"));
    const TensorMap outputs{{"logits", logits_}};
    const LossContext context{1, 0, outputs, made.state};
    task_.update_metrics(context, metrics_);
    return task_.compute_loss(context);
  }

  const PlainLoss task_;
  at::Tensor logits_;  // [2, 3, 5]
  Compose metrics_;
};

TEST_F(TokenTaskTest, IsTheSameOfOutputsThatAreOnADevice) {
  task_.create_metrics(metrics_);
  const double here = loss_of({1, -100, 2, -100, 4, 0}).loss.item<double>();
  logits_ = upload(logits_.detach(), *delayed_device(0));

  EXPECT_EQ(loss_of({1, -100, 2, -100, 4, 0}).loss.item<double>(), here);
}

TEST_F(TokenTaskTest, IsOfTheTokensThatCount) {
  task_.create_metrics(metrics_);

  const Loss loss = loss_of({1, -100, 2, -100, 4, 0});

  const at::Tensor all = at::tensor({1, -100, 2, -100, 4, 0}, at::kLong);
  EXPECT_EQ(loss.weight, 4);
  EXPECT_NEAR(loss.loss.item<float>(), at::cross_entropy_loss(logits_.flatten(0, 1), all).item<float>(),
              1e-6);
  EXPECT_EQ(metrics_.get<Tokens>("tokens").state()[0], 4);
}

// Flattened they would be paired with the logits of other tokens, in silence.
TEST_F(TokenTaskTest, OfLabelsOfAnotherShapeIsRefused) {
  task_.create_metrics(metrics_);
  const auto refusal = [&](at::IntArrayRef labels_shape, const at::Tensor& logits) {
    const TensorMap outputs{{"logits", logits}};
    const TensorMap state{{"labels", at::full(labels_shape, 1, at::kLong)}};
    const LossContext context{1, 0, outputs, state};
    const std::string text = test::error_of([&] { task_.compute_loss(context); }, ErrorKind::input);
    EXPECT_EQ(test::error_of([&] { task_.update_metrics(context, metrics_); }, ErrorKind::input), text);
    return text;
  };

  EXPECT_THAT(refusal({2, 2}, logits_),
              AllOf(HasSubstr("labels have shape [2, 2] and the model's logits [2, 3, 5]"),
                    HasSubstr("collation"), HasSubstr("model_provider")));
  EXPECT_THAT(refusal({2, 4}, logits_), HasSubstr("[2, 4]"));
  EXPECT_THAT(refusal({3, 2}, logits_), HasSubstr("[3, 2]"));
  EXPECT_THAT(refusal({6}, logits_), HasSubstr("[6]"));
  EXPECT_THAT(refusal({2, 3}, logits_.flatten(0, 1)), HasSubstr("[6, 5]"));
}

TEST_F(TokenTaskTest, WithoutTokensHasNoWeightAndStillAGraph) {
  const Loss loss = loss_of({-100, -100, -100, -100, -100, -100});

  EXPECT_EQ(loss.weight, 0);
  EXPECT_EQ(loss.loss.item<float>(), 0);
  loss.loss.backward();
  EXPECT_EQ(logits_.grad().abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace d9d
