#include "runtime/nn/qwen3_model.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/index_select.h>

#include "kernels/cross_entropy.hpp"
#include "kernels/linear.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/activation_checkpoint.hpp"

namespace d9d {
namespace {

void check_dtype(at::ScalarType dtype) {
  D9D_REQUIRE(dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kDouble,
              "a model in {} cannot be computed; use float32 or bfloat16", c10::toString(dtype));
}

void check_position(const Qwen3Config& config, StagePosition position) {
  D9D_REQUIRE(position.num_stages > 0 && position.stage >= 0 && position.stage < position.num_stages,
              "there is no pipeline stage {} of {}", position.stage, position.num_stages);
  D9D_REQUIRE(
      !config.tie_word_embeddings || position.num_stages == 1,
      "tie_word_embeddings is true, which needs the embedding and the head on one pipeline stage, but there "
      "are {} stages; use pipeline_parallel 1 or a model with tie_word_embeddings false",
      position.num_stages);
}

}  // namespace

std::unique_ptr<StageModule> build_qwen3_stage(const Qwen3Config& config, StagePosition position,
                                               const Qwen3Options& options) {
  return std::make_unique<Qwen3Model>(config, position, options);
}

Qwen3Model::Qwen3Model(const Qwen3Config& config, StagePosition position, const Qwen3Options& options)
    : config_(config),
      position_(position),
      options_(options),
      rotary_(config.rope, config.head_dim, config.max_position_embeddings) {
  validate(config);
  check_position(config, position);
  check_dtype(options.dtype);
  ParameterMaker make(options.dtype, options.device, static_cast<float>(config.initializer_range));
  build(make);
  parameters_ = make.parameters();
}

void Qwen3Model::build(ParameterMaker& make) {
  const auto ranges = layers_of_stages(config_, position_.num_stages, options_.split);
  const LayerRange mine = ranges[static_cast<std::size_t>(position_.stage)];
  const auto model = make.child<ModuleGroup>(*this, "model");
  make.within("model", [&] {
    if (position_.is_first()) {
      embed_tokens_ = make.child<TokenEmbedding>(*model, "embed_tokens", config_.vocab_size,
                                                 config_.hidden_size, config_.pad_token_id);
    }
    const auto layers = make.child<ModuleGroup>(*model, "layers");
    make.within("layers", [&] {
      for (std::int64_t index = mine.begin; index < mine.end; ++index) {
        layers_[index] = make.child<DecoderLayer>(*layers, std::to_string(index), config_, index);
      }
      return 0;
    });
    if (position_.is_last()) {
      norm_ = make.child<RmsNorm>(*model, "norm", config_.hidden_size, config_.rms_norm_eps);
    }
    return 0;
  });
  if (position_.is_last() && !config_.tie_word_embeddings) {
    lm_head_ = make.child<Linear>(*this, "lm_head", config_.hidden_size, config_.vocab_size);
  }
}

at::Tensor Qwen3Model::embed(const TensorMap& inputs) const {
  const at::Tensor& ids = tensor_at(inputs, "input_ids", "stage inputs");
  D9D_REQUIRE(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
              "input_ids is a {} tensor of {} dimensions, expected int64 [batch, sequence]",
              c10::toString(ids.scalar_type()), ids.dim());
  embedding_unit_.enter({}, false);
  return embedding_unit_.leave({embed_tokens_->forward(ids)}, false)[0];
}

const at::Tensor& Qwen3Model::head_weight() const {
  return lm_head_ ? lm_head_->weight : embed_tokens_->weight;
}

Residual Qwen3Model::run_layers(at::Tensor hidden, const LayerContext& context) const {
  Residual state{std::move(hidden), {}};
  for (const auto& [index, layer] : layers_) {
    if (!options_.checkpoint_activations) {
      state = layer->forward(state, context, false);
      continue;
    }
    // One tensor between layers is all that is kept, so the sum is taken inside the segment.
    const auto segment = [layer = layer, context](const at::Tensor& x, bool recompute) {
      return layer->forward({x, {}}, context, recompute).sum();
    };
    state = {checkpointed(segment, state.sum()), {}};
  }
  return state;
}

std::vector<at::Tensor> Qwen3Model::vocabulary_weights() const {
  std::vector<at::Tensor> weights;
  if (embed_tokens_) weights.push_back(embed_tokens_->weight);
  if (lm_head_) weights.push_back(lm_head_->weight);
  return weights;
}

void Qwen3Model::share_tokens(ActivationShards tokens, std::shared_ptr<const VocabularyShards> vocabulary) {
  tokens_ = std::move(tokens);
  vocabulary_ = std::move(vocabulary);
  if (embed_tokens_) embed_tokens_->shards = vocabulary_;
}

at::Tensor Qwen3Model::positions(const TensorMap& shared, const at::Tensor& hidden) const {
  const std::int64_t batch = hidden.size(0), length = hidden.size(1) * tokens_.size();
  const auto found = shared.find("position_ids");
  if (found != shared.end()) {
    D9D_REQUIRE(found->second.sizes() == at::IntArrayRef({batch, length}),
                "position_ids has another shape than the batch: {} elements for {} x {} tokens",
                found->second.numel(), batch, length);
    return found->second;
  }
  const at::Tensor row = at::arange(length, at::TensorOptions(at::kLong).device(hidden.device()));
  return row.expand({batch, length});
}

at::Tensor Qwen3Model::logits(at::Tensor normed, const TensorMap& shared) const {
  const auto wanted = shared.find("logit_positions");
  const bool some = wanted != shared.end();
  if (vocabulary_) {
    return vocabulary_->logits(normed, head_weight(),
                               some ? std::optional<at::Tensor>(wanted->second) : std::nullopt);
  }
  if (some) normed = at::index_select(normed, 1, wanted->second);
  return kernels::linear(normed, head_weight());
}

TensorMap Qwen3Model::head(const Residual& hidden, const TensorMap& shared) const {
  const std::vector<at::Tensor> entered = head_unit_.enter({hidden.residual, hidden.delta}, false);
  const at::Tensor normed = add_and_norm({entered[0], entered[1]}, *norm_).first;
  const auto labels = shared.find("labels");
  if (labels == shared.end()) return {{"logits", head_unit_.leave({logits(normed, shared)}, false)[0]}};
  const at::Tensor& target = labels->second;
  const std::int64_t length = normed.size(1) * tokens_.size();
  D9D_REQUIRE(
      target.sizes() == at::IntArrayRef({normed.size(0), length}) && target.scalar_type() == at::kLong,
      "labels is a {} tensor of {} elements, expected int64 [{}, {}], already shifted",
      c10::toString(target.scalar_type()), target.numel(), normed.size(0), length);
  const at::Tensor loss = vocabulary_ ? vocabulary_->loss(normed, head_weight(), target)
                                      : kernels::linear_cross_entropy(normed.view({-1, config_.hidden_size}),
                                                                      head_weight(), target.reshape({-1}));
  return {{"cross_entropy", head_unit_.leave({loss}, false)[0].view(target.sizes())}};
}

std::vector<UnitUse> Qwen3Model::unit_uses() {
  std::vector<UnitUse> uses;
  if (embed_tokens_) uses.push_back({"embedding", &embedding_unit_, embed_tokens_->parameters(), false});
  for (const auto& [index, layer] : layers_) {
    uses.push_back({"layer " + std::to_string(index), &layer->unit, layer->parameters()});
  }
  if (norm_) {
    std::vector<at::Tensor> weights = norm_->parameters();
    weights.push_back(head_weight());
    uses.push_back({"head", &head_unit_, std::move(weights)});
  }
  return uses;
}

TensorMap Qwen3Model::forward(const TensorMap& inputs, const TensorMap& shared) {
  at::Tensor hidden =
      position_.is_first() ? embed(inputs) : tensor_at(inputs, "hidden_states", "stage inputs");
  D9D_REQUIRE(hidden.dim() == 3 && hidden.size(2) == config_.hidden_size,
              "hidden_states has {} dimensions, expected [batch, sequence, {}]", hidden.dim(),
              config_.hidden_size);
  const auto [cos, sin] = rotary_.at_positions(positions(shared, hidden));
  const Residual state = run_layers(std::move(hidden), {cos, sin});
  if (!position_.is_last()) return {{"hidden_states", state.sum()}};
  return head(state, shared);
}

}  // namespace d9d
