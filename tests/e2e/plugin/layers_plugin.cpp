// A plugin for hidden_states_test: a task whose loss and metrics look at a vector of every layer.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/decode.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"

namespace layers {

struct LayersConfig {
  std::int64_t layers = 0;
};
BOOST_DESCRIBE_STRUCT(LayersConfig, (), (layers))
constexpr auto keys_of(d9d::config::Tag<LayersConfig>) {
  using namespace d9d::config;
  return std::array{Key{"layers", "", "of the model", required, at_least(1)}};
}

namespace {

// Adds the distance between the vectors of neighbouring layers to the loss.
class SmoothLayers final : public d9d::TrainTask {
 public:
  explicit SmoothLayers(const LayersConfig& config) : config_(config) {}

  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    d9d::ForwardInputs inputs = inner_.build_forward_inputs(context);
    inputs.shared["hidden_states_agg_mask"] = at::ones(inputs.inputs.at("input_ids").sizes());
    return inputs;
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    d9d::Loss loss = inner_.compute_loss(context);
    const at::Tensor vectors = snapshot(context);
    const at::Tensor changes = vectors.slice(0, 1) - vectors.slice(0, 0, vectors.size(0) - 1);
    loss.loss = loss.loss + changes.square().sum(at::IntArrayRef{0, 2}).mean();
    return loss;
  }
  void create_metrics(d9d::Compose& metrics) const override {
    for (std::int64_t i = 0; i <= config_.layers; ++i)
      metrics.add(name(i), std::make_unique<d9d::WeightedMean>());
  }
  void update_metrics(const d9d::LossContext& context, d9d::Compose& metrics) const override {
    const at::Tensor squares = snapshot(context).detach().square().sum(-1).mean(-1);
    for (std::int64_t i = 0; i <= config_.layers; ++i)
      metrics.get<d9d::WeightedMean>(name(i)).update(squares[i].item<float>());
  }

 private:
  static std::string name(std::int64_t layer) { return fmt::format("layer_{}", layer); }
  static const at::Tensor& snapshot(const d9d::LossContext& context) {
    return d9d::tensor_at(context.outputs, "hidden_states_snapshot", "the last stage's output");
  }

  const LayersConfig config_;
  const d9d::CausalLmTask inner_;
};

}  // namespace
}  // namespace layers

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("smooth_layers", [](const d9d::config::Section& section) {
    return std::make_shared<layers::SmoothLayers>(d9d::config::decode<layers::LayersConfig>(section));
  });
}
