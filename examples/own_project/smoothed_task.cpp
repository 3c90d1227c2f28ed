// Next-token prediction with label smoothing (Szegedy and others 2016, section 7) and the z-loss (Chowdhery
// and others 2022, section 5) that keeps logits from drifting. Works with every model that gives logits.
#include <boost/describe/class.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/auroc.hpp"
#include "runtime/task/metric_values.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/task/task.hpp"

namespace mine {

struct SmoothedConfig {
  double smoothing = 0.1;
  double z_loss = 0;
};
BOOST_DESCRIBE_STRUCT(SmoothedConfig, (), (smoothing, z_loss))
constexpr auto keys_of(d9d::config::Tag<SmoothedConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"smoothing", "", "share of the target spread over all tokens", d9d::config::optional, below_one()},
      Key{"z_loss", "", "weight of the squared log-sum-exp", d9d::config::optional, at_least(0)}};
}

namespace {

constexpr std::int64_t ignored_label = -100;

class SmoothedTask final : public d9d::TrainTask {
 public:
  explicit SmoothedTask(const SmoothedConfig& config) : config_(config) {}

  // The labels stay with the task: a built-in model that does not see them returns its logits.
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    const at::Tensor& ids = d9d::tensor_at(context.batch, "input_ids", "the batch");
    const at::Tensor& labels = d9d::tensor_at(context.batch, "labels", "the batch");
    const at::Tensor positions = at::arange(ids.size(1), ids.options()).expand_as(ids);
    return {{{"input_ids", ids}}, {{"position_ids", positions}}, {{"labels", labels}}};
  }

  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    const at::Tensor logits =
        d9d::tensor_at(context.outputs, "logits", "the last stage's output").flatten(0, 1);
    const at::Tensor labels = d9d::tensor_at(context.state, "labels", "the task state").flatten();
    const at::Tensor counts = at::ne(labels, ignored_label);
    const auto tokens = static_cast<double>(counts.sum().item<std::int64_t>());
    if (tokens == 0) return {at::mul(at::sum(logits), 0), 0};
    const at::Tensor z = at::mul(at::logsumexp(logits, {1}).square(), counts).sum() / tokens;
    const at::Tensor loss =
        at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, ignored_label, config_.smoothing);
    return {loss + config_.z_loss * z, tokens};
  }

  // The loss without smoothing, so that runs can be compared; and whether the model is more confident where it is right.
  void create_metrics(d9d::Compose& metrics) const override {
    metrics.add("plain_loss", std::make_unique<d9d::WeightedMean>());
    metrics.add("confidence_auroc", std::make_unique<d9d::BinaryAuroc>());
  }
  void update_metrics(const d9d::LossContext& context, d9d::Compose& metrics) const override {
    const at::Tensor all_logits =
        d9d::tensor_at(context.outputs, "logits", "the last stage's output").detach();
    const at::Tensor all_labels = d9d::tensor_at(context.state, "labels", "the task state").flatten();
    const at::Tensor counted = at::ne(all_labels, ignored_label).nonzero().flatten();
    if (counted.numel() == 0) return;
    const at::Tensor logits = all_logits.flatten(0, 1).index_select(0, counted);
    const at::Tensor labels = all_labels.index_select(0, counted);
    const at::Tensor loss = at::cross_entropy_loss(logits, labels);
    metrics.get<d9d::WeightedMean>("plain_loss")
        .update(loss.item<float>(), static_cast<double>(counted.numel()));
    const auto [confidence, guess] = at::softmax(logits, 1).max(1);
    metrics.get<d9d::BinaryAuroc>("confidence_auroc")
        .update(d9d::numbers_of(confidence), d9d::integers_of(at::eq(guess, labels)));
  }

 private:
  const SmoothedConfig config_;
};

}  // namespace

void add_smoothed_task(d9d::Registry& registry) {
  registry.add_task("smoothed_lm", [](const d9d::config::Section& section) {
    return std::make_shared<SmoothedTask>(d9d::config::decode<SmoothedConfig>(section));
  });
}

}  // namespace mine
