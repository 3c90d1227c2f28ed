// A language model without attention: layer i adds a gated mix of each token and the one 2^i before it, a
// causal dilated convolution (van den Oord and others 2016). Splits over pipeline stages like the built-in
// models.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include "kernels/activation.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "mine.hpp"
#include "runtime/task/model_provider.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace mine {
namespace {

namespace ops = d9d::kernels;
using d9d::TensorMap;

class ConvolutionStage final : public d9d::StageModule {
 public:
  ConvolutionStage(const ConvolutionConfig& config, d9d::StagePosition position)
      : position_(position),
        layers_(d9d::distribute_layers(config.layers, position.num_stages)[position.stage]) {
    const std::int64_t width = config.width;
    if (position.is_first()) add("embedding", {config.vocab_size, width});
    for (std::int64_t i = layers_.begin; i < layers_.end; ++i) {
      for (const char* name : {"gate", "up"})
        add("layers." + std::to_string(i) + "." + name, {width, 2 * width});
      add("layers." + std::to_string(i) + ".down", {width, width});
    }
    if (!position.is_last()) return;
    add("norm", {width}, {d9d::Initial::Kind::constant, 1});
    add("head", {config.vocab_size, width});
  }

  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override {
    std::size_t next = 0;  // parameters are used in the order in which they were added
    const auto weight = [&]() -> const at::Tensor& { return parameters_[next++].tensor; };
    at::Tensor hidden = position_.is_first() ? ops::embedding(inputs.at("input_ids"), weight())
                                             : inputs.at("hidden_states");  // [B, S, width]
    for (std::int64_t i = layers_.begin; i < layers_.end; ++i) {
      const std::int64_t back = std::min(std::int64_t{1} << i, hidden.size(1));
      const at::Tensor before =
          at::constant_pad_nd(hidden.slice(1, 0, hidden.size(1) - back), {0, 0, back, 0});
      const auto mixed = ops::linear_multi(at::cat({hidden, before}, 2), {weight(), weight()});
      hidden = hidden + ops::linear(ops::silu_mul(mixed[0], mixed[1]), weight());
    }
    if (!position_.is_last()) return {{"hidden_states", hidden}};
    const at::Tensor normed = ops::rms_norm(hidden, weight(), 1e-6);
    const auto labels = shared.find("labels");
    if (labels == shared.end()) return {{"logits", ops::linear(normed, weight())}};
    const at::Tensor loss =
        ops::linear_cross_entropy(normed.flatten(0, 1), weight(), labels->second.flatten());
    return {{"cross_entropy", loss.view(labels->second.sizes())}};
  }

  std::vector<d9d::StageParameter> parameters() override { return parameters_; }
  void set_training(bool) override {}

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, d9d::Initial initial = {}) {
    at::Tensor tensor = at::empty(shape, at::TensorOptions(at::kFloat)).requires_grad_();
    parameters_.push_back({name, std::move(tensor), d9d::Layout::local(std::move(shape)), initial});
  }

  const d9d::StagePosition position_;
  const d9d::LayerRange layers_;
  std::vector<d9d::StageParameter> parameters_;
};

class ConvolutionModel final : public d9d::ModelProvider {
 public:
  explicit ConvolutionModel(const ConvolutionConfig& config) : config_(config) {}
  std::unique_ptr<d9d::StageModule> build_stage(d9d::StagePosition position) const override {
    return std::make_unique<ConvolutionStage>(config_, position);
  }

 private:
  const ConvolutionConfig config_;
};

}  // namespace

std::shared_ptr<const d9d::ModelProvider> make_convolution_model(const ConvolutionConfig& config) {
  return std::make_shared<ConvolutionModel>(config);
}

}  // namespace mine
