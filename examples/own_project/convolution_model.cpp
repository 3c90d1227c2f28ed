// A language model without attention: layer i adds a gated mix of each token and the one 2^i before it, a
// causal dilated convolution (van den Oord and others 2016). Splits over pipeline stages like the built-in
// models, and its matrices over ranks of tensor_parallel by a plan of its own.
#include <boost/describe/class.hpp>

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
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/task/model_provider.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace mine {

struct ConvolutionConfig {
  std::int64_t vocab_size = 0;
  std::int64_t width = 64;
  std::int64_t layers = 4;
};
BOOST_DESCRIBE_STRUCT(ConvolutionConfig, (), (vocab_size, width, layers))
constexpr auto keys_of(d9d::config::Tag<ConvolutionConfig>) {
  using namespace d9d::config;
  return std::array{Key{"vocab_size", "tokens", "size of the vocabulary", required, at_least(1)},
                    Key{"width", "", "width of the residual stream", d9d::config::optional, at_least(1)},
                    Key{"layers", "", "layer i looks back 2^i tokens", d9d::config::optional, within(1, 20)}};
}

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
    // [B, S, width], between layers and stages of this rank's tokens only.
    at::Tensor hidden = position_.is_first() ? ops::embedding(tokens_.split(inputs.at("input_ids")), weight())
                                             : inputs.at("hidden_states");
    for (std::int64_t i = layers_.begin; i < layers_.end; ++i) {
      const at::Tensor all = tokens_.gather(hidden);
      const std::int64_t back = std::min(std::int64_t{1} << i, all.size(1));
      const at::Tensor before = at::constant_pad_nd(all.slice(1, 0, all.size(1) - back), {0, 0, back, 0});
      const at::Tensor &gate = weight(), &up = weight(), &down = weight();
      const auto mixed = ops::linear_multi(at::cat({all, before}, 2), {gate, up});
      hidden = hidden + tokens_.scatter_sum(ops::linear(ops::silu_mul(mixed[0], mixed[1]), down));
    }
    if (!position_.is_last()) return {{"hidden_states", hidden}};
    const at::Tensor normed = ops::rms_norm(hidden, weight(), 1e-6);
    const auto labels = shared.find("labels");
    if (labels == shared.end()) return {{"logits", tokens_.collect(ops::linear(normed, weight()))}};
    const at::Tensor own = tokens_.split(labels->second);
    const at::Tensor loss = ops::linear_cross_entropy(normed.flatten(0, 1), weight(), own.flatten());
    return {{"cross_entropy", tokens_.collect(loss.view(own.sizes()))}};
  }

  // The plan: convolutions by their inner width, tokens between them over the same ranks; embedding, norm and
  // head stay whole and see own tokens only.
  std::vector<d9d::StageParameter> parallelize(d9d::StageGroups& groups) {
    const auto& mesh = groups.domains().parameters();
    D9D_REQUIRE(mesh.context_parallel() == 1 && mesh.expert_parallel == 1,
                "convolution_lm has no context or expert parallelism; set those degrees of `mesh` to 1");
    d9d::TensorParallel tensor(parameters_, groups);
    for (const d9d::StageParameter& parameter : parameters_) {
      if (parameter.name.ends_with(".gate") || parameter.name.ends_with(".up"))
        tensor.column(parameter.tensor);
      if (parameter.name.ends_with(".down")) tensor.row(parameter.tensor);
    }
    tokens_ = tensor.activations(/*dim=*/1);
    d9d::parallelize_replicate(parameters_, groups.domains().mesh_for(d9d::dense_domain), d9d::dense_axes(),
                               groups.rank());
    return parameters_;
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
  d9d::ActivationShards tokens_;
};

class ConvolutionModel final : public d9d::ModelProvider {
 public:
  explicit ConvolutionModel(const ConvolutionConfig& config) : config_(config) {}
  std::unique_ptr<d9d::StageModule> build_stage(d9d::StagePosition position) const override {
    return std::make_unique<ConvolutionStage>(config_, position);
  }
  std::vector<d9d::StageParameter> parallelize(d9d::StageModule& stage, d9d::StageGroups& groups,
                                               const d9d::ParallelOptions&) const override {
    return dynamic_cast<ConvolutionStage&>(stage).parallelize(groups);
  }

 private:
  const ConvolutionConfig config_;
};

}  // namespace

void add_convolution_model(d9d::Registry& registry) {
  registry.add_model("convolution_lm", [](const d9d::config::Section& section) {
    return std::make_shared<ConvolutionModel>(d9d::config::decode<ConvolutionConfig>(section));
  });
}

}  // namespace mine
