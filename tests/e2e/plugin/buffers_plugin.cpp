// A plugin for buffers_test and rules_test: a small language model whose layers subtract running means. Those
// and the number of batches that they are of are persistent buffers.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <boost/describe/class.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/mapped_provider.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace centred {

struct CentredConfig {
  std::int64_t width = 16;
  bool counts_tokens = false;
  bool bfloat16 = false;
};
BOOST_DESCRIBE_STRUCT(CentredConfig, (), (width, counts_tokens, bfloat16))
constexpr auto keys_of(d9d::config::Tag<CentredConfig>) {
  using namespace d9d::config;
  return std::array{Key{"width", "", "of the residual stream", d9d::config::optional, at_least(1)},
                    Key{"counts_tokens", "", "adds a buffer with their number", d9d::config::optional},
                    Key{"bfloat16", "", "the type of the parameters", d9d::config::optional}};
}

namespace {

namespace ops = d9d::kernels;
using d9d::TensorMap;

constexpr std::int64_t vocabulary = 512;
constexpr std::int64_t layers = 2;
constexpr double kept_share = 0.9;

struct Layer {
  std::string name;
  at::Tensor mean;
  at::Tensor batches;
};

class CentredStage final : public d9d::StageModule {
 public:
  CentredStage(const CentredConfig& config, d9d::StagePosition position)
      : config_(config),
        position_(position),
        place_(position.device),
        tokens_(at::zeros({}, place_.dtype(at::kLong))) {
    const std::int64_t width = config.width;
    const d9d::LayerRange range = d9d::distribute_layers(layers, position.num_stages)[position.stage];
    if (position.is_first()) add("embedding", {vocabulary, width});
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      layers_.push_back(
          {fmt::format("layers.{}", i), at::zeros({width}, place_), at::zeros({}, place_.dtype(at::kLong))});
      add(layers_.back().name + ".weight", {width, width});
    }
    if (position.is_last()) add("head", {vocabulary, width});
  }

  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override {
    if (!std::exchange(has_begun_, true)) tell_buffers();
    std::size_t next = 0;
    const auto weight = [&]() -> const at::Tensor& { return parameters_[next++].tensor; };
    at::Tensor hidden =
        position_.is_first() ? ops::embedding(inputs.at("input_ids"), weight()) : inputs.at("hidden_states");
    for (Layer& layer : layers_) hidden = hidden + centred(layer, ops::linear(hidden, weight()));
    tokens_ = tokens_ + hidden.size(0) * hidden.size(1);  // a new tensor each time
    if (!position_.is_last()) return {{"hidden_states", hidden}};
    const at::Tensor& labels = shared.at("labels");
    const at::Tensor loss = ops::linear_cross_entropy(hidden.flatten(0, 1), weight(), labels.flatten());
    return {{"cross_entropy", loss.view(labels.sizes())}};
  }

  std::vector<d9d::StageParameter> parameters() override { return parameters_; }
  std::vector<d9d::StageBuffer> buffers() override {
    std::vector<d9d::StageBuffer> all;
    for (const Layer& layer : layers_) {
      all.push_back({layer.name + ".mean", layer.mean});
      all.push_back({layer.name + ".batches", layer.batches});
    }
    if (config_.counts_tokens && position_.is_first()) all.push_back({"tokens", tokens_});
    return all;
  }
  void set_training(bool) override {}

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    at::Tensor tensor =
        at::empty(shape, place_.dtype(config_.bfloat16 ? at::kBFloat16 : at::kFloat)).requires_grad_();
    parameters_.push_back({name, std::move(tensor), d9d::Layout::local(std::move(shape)), {.value = 0.3F}});
  }
  // Divides by what the mean of so few batches lacks: another number of batches gives another loss.
  static at::Tensor centred(Layer& layer, const at::Tensor& values) {
    {
      const c10::NoGradGuard no_grad;
      layer.mean.mul_(kept_share).add_(values.detach().mean(at::IntArrayRef{0, 1}), 1 - kept_share);
      layer.batches.add_(1);
    }
    const double share = 1 - std::pow(kept_share, layer.batches.item<std::int64_t>());
    return at::relu(values - (layer.mean / share).to(values.scalar_type()));
  }
  void tell_buffers() const {
    for (const Layer& layer : layers_) {
      std::fputs(fmt::format("{} begins with {:a} after {} batches\n", layer.name,
                             layer.mean.sum().item<float>(), layer.batches.item<std::int64_t>())
                     .c_str(),
                 stderr);
    }
  }

  const CentredConfig config_;
  const d9d::StagePosition position_;
  const at::TensorOptions place_;
  std::vector<d9d::StageParameter> parameters_;
  std::vector<Layer> layers_;
  at::Tensor tokens_;
  bool has_begun_ = false;
};

class CentredModel final : public d9d::MappedProvider {
 public:
  explicit CentredModel(const CentredConfig& config) : config_(config) {}

  std::unique_ptr<d9d::StageModule> build_stage(d9d::StagePosition position) const override {
    return std::make_unique<CentredStage>(config_, position);
  }

 private:
  const CentredConfig config_;
};

}  // namespace
}  // namespace centred

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_model("centred_lm", [](const d9d::config::Section& section) {
    return std::make_shared<centred::CentredModel>(d9d::config::decode<centred::CentredConfig>(section));
  });
}
