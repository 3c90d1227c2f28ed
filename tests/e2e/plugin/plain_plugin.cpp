// A plugin for plain_test: a language model of torch's own modules.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/decode.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace plain {

struct PlainConfig {
  std::int64_t layers = 4;
  bool own_function = false;
  std::string fault;
};
BOOST_DESCRIBE_STRUCT(PlainConfig, (), (layers, own_function, fault))
constexpr auto keys_of(d9d::config::Tag<PlainConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"layers", "", "number of them", d9d::config::optional, at_least(1)},
      Key{"own_function", "", "scale by an autograd function", d9d::config::optional},
      Key{"fault", "", "unregistered, unused, detached, no_grad: in layer 0", d9d::config::optional}};
}

namespace {

using d9d::Initial;
using d9d::TensorMap;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t vocabulary = 512;
constexpr std::int64_t width = 32;

struct PlainScale : torch::autograd::Function<PlainScale> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain) {
    context->save_for_backward({x, gain});
    return x * gain;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    return {grads[0] * saved[1], (grads[0] * saved[0]).sum(at::IntArrayRef{0, 1})};
  }
};

// `mix` is used twice.
struct Layer {
  torch::nn::LayerNorm norm{torch::nn::LayerNormOptions({width})};
  torch::nn::Linear mix{width, width};
  torch::nn::Linear out{width, width};
  at::Tensor gain = at::empty({width}, at::kFloat).requires_grad_();
};

class PlainStage final : public d9d::StageModule {
 public:
  PlainStage(const PlainConfig& config, d9d::StagePosition position) : config_(config), position_(position) {
    const auto range = d9d::distribute_layers(config.layers, position.num_stages)[position.stage];
    const auto table = [] { return at::empty({vocabulary, width}, at::kFloat).requires_grad_(); };
    if (position.is_first()) add("embedding", embedding_ = table());
    for (std::int64_t i = range.begin; i < range.end; ++i)
      add(fmt::format("layers.{}.", i), layers_.emplace_back());
    if (config.fault == "unused" && position.is_first()) add("spare", spare_ = table());
    if (position.is_last()) add("head", head_ = table());
  }

  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override {
    at::Tensor hidden =
        position_.is_first() ? at::embedding(embedding_, inputs.at("input_ids")) : inputs.at("hidden_states");
    for (Layer& layer : layers_) {
      const at::Tensor mixed = layer.mix(at::gelu(layer.mix(layer.norm(hidden))));
      const at::Tensor scaled =
          config_.own_function ? PlainScale::apply(mixed, layer.gain) : mixed * layer.gain;
      hidden = hidden + after(layer, at::gelu(scaled));
    }
    if (!position_.is_last()) return {{"hidden_states", hidden}};
    const at::Tensor& labels = shared.at("labels");
    const at::Tensor logits = at::linear(hidden, head_).flatten(0, 1);
    const at::Tensor loss = at::cross_entropy_loss(logits, labels.flatten(), {}, at::Reduction::None);
    return {{"cross_entropy", loss.view(labels.sizes())}};
  }

  std::vector<d9d::StageParameter> parameters() override { return parameters_; }
  void set_training(bool) override {}

 private:
  void add(std::string name, const at::Tensor& tensor, Initial initial = {.value = 0.2F}) {
    parameters_.push_back({std::move(name), tensor, d9d::Layout::local(tensor.sizes().vec()), initial});
  }
  void add(const std::string& prefix, Layer& layer) {
    const auto constant = [](float value) { return Initial{Initial::Kind::constant, value}; };
    add(prefix + "norm.weight", layer.norm->weight, constant(1));
    add(prefix + "norm.bias", layer.norm->bias, constant(0));
    add(prefix + "mix.weight", layer.mix->weight);
    add(prefix + "mix.bias", layer.mix->bias, constant(0));
    add(prefix + "gain", layer.gain, constant(1));
    if (config_.fault == "unregistered" && prefix == "layers.0.") return;
    add(prefix + "out.weight", layer.out->weight);
    add(prefix + "out.bias", layer.out->bias, constant(0));
  }
  at::Tensor after(Layer& layer, const at::Tensor& scaled) {
    const bool is_first = position_.is_first() && &layer == layers_.data();
    if (!is_first) return layer.out(scaled);
    if (config_.fault == "detached") return layer.out(scaled).detach();
    const c10::AutoGradMode grad(config_.fault != "no_grad" && c10::GradMode::is_enabled());
    return layer.out(scaled);
  }

  const PlainConfig config_;
  const d9d::StagePosition position_;
  at::Tensor embedding_, head_, spare_;
  std::vector<Layer> layers_;
  std::vector<d9d::StageParameter> parameters_;
};

class PlainModel final : public d9d::ModelProvider {
 public:
  explicit PlainModel(const PlainConfig& config) : config_(config) {}
  std::unique_ptr<d9d::StageModule> build_stage(d9d::StagePosition position) const override {
    return std::make_unique<PlainStage>(config_, position);
  }

 private:
  const PlainConfig config_;
};

}  // namespace
}  // namespace plain

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_model("plain_lm", [](const d9d::config::Section& section) {
    return std::make_shared<plain::PlainModel>(d9d::config::decode<plain::PlainConfig>(section));
  });
}
