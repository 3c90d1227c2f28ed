#include "runtime/nn/model/causal_lm.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/nn/model/activation_checkpoint.hpp"
#include "runtime/nn/model/document_starts.hpp"

namespace d9d {
namespace {

// The length of whole sequences; undefined unless ranks share them and a frequency depends on it.
at::Tensor whole_length(const TensorMap& shared) {
  const auto found = shared.find("sequence_length");
  D9D_REQUIRE(found != shared.end(),
              "the task hands on no sequence_length, which the model's RoPE depends on where ranks share "
              "sequences; add the batch's to the shared inputs, or set mesh.context_parallel_shard and "
              "context_parallel_replicate to 1");
  return found->second;
}

// This rank's block [B, S / ranks, ..] of a mask that the task shares, bool [B, S, ..] and false where a position only
// fills a row up. `sizes`: of the block. Undefined without such an input: every position holds a token.
at::Tensor own_mask(const TensorMap& shared, const char* name, std::vector<std::int64_t> sizes,
                    const ActivationShards& tokens) {
  const auto found = shared.find(name);
  if (found == shared.end()) return {};
  const at::Tensor& all = found->second;
  const std::int64_t own = sizes[1];
  sizes[1] *= tokens.size();
  D9D_REQUIRE(all.scalar_type() == at::kBool && all.sizes() == at::IntArrayRef(sizes),
              "{} is a {} tensor of {} elements, expected bool for {} x {} tokens", name,
              c10::toString(all.scalar_type()), all.numel(), sizes[0], sizes[1]);
  return all.narrow(1, tokens.rank() * own, own);
}

// The tensors that offloading must not move: weights, tensors that all layers read,
// and those that the stage keeps.
std::vector<at::Tensor> not_of_layer(const DecoderLayer& layer, const Residual& state,
                                     const LayerContext& context) {
  std::vector<at::Tensor> found = layer.parameters();
  for (const at::Tensor& buffer : layer.buffers()) found.push_back(buffer);
  for (const at::Tensor& shared :
       {context.cos, context.sin, context.window_cos, context.window_sin, context.token_mask})
    found.push_back(shared);
  for (const at::Tensor& entering : {state.residual, state.delta}) {
    if (entering.defined() && entering.is_leaf()) found.push_back(entering);
  }
  return found;
}

Residual run_offloaded(const DecoderLayer& layer, const Residual& state, const LayerContext& context,
                       ActivationOffload& offload) {
  const auto pass = offload.begin_layer(not_of_layer(layer, state, context));
  const Residual after = [&] {
    const kernels::SavingPlace::Scope place(pass.get());
    return layer.forward(state, context, false);
  }();
  const std::vector<at::Tensor> left =
      Unit{pass}.leave({after.residual, after.delta, after.router_sums}, false);
  return {left[0], left[1], left[2]};
}

}  // namespace

void CausalLm::shard(TensorParallel& tensor) {
  std::vector<std::int64_t> tables;
  for (const VocabularyPart& part : vocabulary_) tables.push_back(part.size);
  require_divisible_vocabulary(rows_of(vocabulary_), tensor.size());
  if (tables.size() > 1) require_divisible_parts(vocabulary_, tensor.size());
  tokens_ = tensor.activations(/*dim=*/1);
  for (const auto& [index, layer] : layers_) {
    layer->attention().shard(tensor, tokens_);
    layer->feed_forward().shard(tensor, tokens_);
  }
  const auto vocabulary = std::make_shared<VocabularyShards>(tokens_, std::move(tables));
  if (embed_tokens_) embed_tokens_->shard(tensor, vocabulary);
  if (head_) head_->shard(tensor, tokens_, vocabulary);
}

void CausalLm::share_sequences(SharedCommunicator group) {
  shares_sequences_ = true;
  balance_.set_sequence_group(std::move(group));
}

at::Tensor CausalLm::embed(const at::Tensor& ids, const Unit& unit) const {
  D9D_REQUIRE(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
              "input_ids is a {} tensor of {} dimensions, expected int64 [batch, sequence]",
              c10::toString(ids.scalar_type()), ids.dim());
  unit.enter({}, false);
  const at::Tensor rows = embed_tokens_->forward(ids);
  const at::Tensor scaled = embedding_scale_ == 1 ? rows : at::mul(rows, embedding_scale_);
  return unit.leave({embed_norm_ ? embed_norm_->forward(scaled) : scaled}, false)[0];
}

// Takes the sum of the hidden state's two tensors inside the segment, so that
// only one tensor is kept per layer.
Residual CausalLm::run_checkpointed(const Layer& layer, const Residual& state,
                                    const LayerContext& context) const {
  const bool sums = state.router_sums.defined() && layer->feed_forward().experts() != nullptr;
  const at::Tensor none = sums ? balance_.no_sums(state.residual) : at::Tensor();
  const auto segment = [layer, context, none](const at::Tensor& x, bool recompute) {
    const Residual after = layer->forward({x, {}, none}, context, recompute);
    std::vector<at::Tensor> outputs{after.sum()};
    if (none.defined()) outputs.push_back(after.router_sums);
    return outputs;
  };
  const std::vector<at::Tensor> outputs = checkpointed(segment, state.sum(), options_.checkpoint_keeps);
  return {outputs[0], {}, sums ? at::add(state.router_sums, outputs[1]) : state.router_sums};
}

Residual CausalLm::run_layer(const Layer& layer, const Residual& state, const LayerContext& context) const {
  return options_.checkpoint_activations ? run_checkpointed(layer, state, context)
                                         : layer->forward(state, context, false);
}

Residual CausalLm::run_layers(Residual state, LayerContext context, HiddenStateAggregator& summary) const {
  if (offload_) offload_->begin_microbatch();
  std::int64_t place = 0;
  for (const auto& [index, layer] : layers_) {
    if (index >= num_hidden_layers_) break;
    if (context.pass != nullptr) context.cache = context.pass->caches.layers.at(index).get();
    if (offload_ && place++ < options_.offload_layers && at::GradMode::is_enabled()) {
      state = run_offloaded(*layer, state, context, *offload_);
    } else {
      state = run_layer(layer, state, context);
      if (offload_) offload_->let_go();
    }
    if (summary.wanted()) summary.add(state.sum());
  }
  return state;
}

// The snapshot of the stages before this one; undefined on the first stage, and when no summary is wanted.
at::Tensor CausalLm::snapshot(const TensorMap& inputs, at::Tensor& hidden) const {
  if (!summarises_hidden_states() || position_.is_first()) return {};
  const std::vector<at::Tensor> bound =
      bound_together({hidden, tensor_at(inputs, "hidden_states_snapshot", "stage inputs")});
  hidden = bound[0];
  return bound[1];
}

// The router's sums of the layers before this stage; undefined when no loss needs them.
at::Tensor CausalLm::router_sums(const TensorMap& inputs, const at::Tensor& hidden) const {
  if (!balance_.wanted() || !is_training()) return {};
  return position_.is_first() ? balance_.no_sums(hidden) : tensor_at(inputs, "router_sums", "stage inputs");
}

// Adds the balance loss to the loss of each token that counts, so that their mean contains it once. What they are
// without it goes along as the loss of depth 0.
void CausalLm::add_balance_loss(TensorMap& outputs, const Residual& state, const TensorMap& shared) const {
  const auto losses = outputs.find("cross_entropy");
  if (!state.router_sums.defined() || losses == outputs.end()) return;
  std::optional<std::int64_t> tokens;
  if (!shared.contains("token_mask")) tokens = state.residual.size(0) * state.residual.size(1);
  const at::Tensor balance = balance_.loss(state.router_sums, tokens, tokens_);
  const at::Tensor& labels = shared.at("labels");
  if (!outputs.contains("depth_losses"))
    outputs["depth_losses"] = sum_and_count(losses->second, labels).unsqueeze(0);
  const at::Tensor counts = at::ne(labels, -100).to(balance.scalar_type());
  losses->second = at::add(losses->second, at::mul(counts, balance));
}

at::Tensor CausalLm::positions(const TensorMap& shared, const at::Tensor& hidden) const {
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

LayerContext CausalLm::angles(const TensorMap& shared, const at::Tensor& hidden) {
  const at::Tensor ids = positions(shared, hidden);
  const bool by_length = std::any_of(rotary_.begin(), rotary_.end(),
                                     [](const auto& table) { return table.depends_on_length(); });
  const bool says_length = shares_sequences_ || shared.contains("sequence_length");
  const at::Tensor length = says_length && by_length ? whole_length(shared) : at::Tensor();
  const auto [cos, sin] = rotary_.front().at_positions(ids, length);
  at::Tensor starts = document_starts(shared, ids, shares_sequences_);
  if (!causal_) starts = starts_without_filling(starts, shared, ids, shares_sequences_);
  if (rotary_.size() == 1) return {cos, sin, {}, {}, starts};
  const auto [window_cos, window_sin] = rotary_.back().at_positions(ids, length);
  return {cos, sin, window_cos, window_sin, starts};
}

TensorMap CausalLm::head(const Residual& hidden, const TensorMap& shared, const LayerContext& context) const {
  const std::vector<at::Tensor> entered = head_unit_.enter({hidden.residual, hidden.delta}, false);
  const at::Tensor normed = add_and_norm({entered[0], entered[1]}, *norm_).first;
  TensorMap outputs = head_->forward(normed, shared);
  for (auto& [name, output] : outputs) output = head_unit_.leave({output}, false)[0];
  if (!prediction_ || !is_training() || !outputs.contains("cross_entropy")) return outputs;
  const PredictingModel model{
      [this](const at::Tensor& ids, const Unit& unit) { return embed(ids, unit); },
      [this, &context](const auto& layer, const at::Tensor& x, const at::Tensor& token_mask) {
        LayerContext own = context;
        if (token_mask.defined()) own.token_mask = token_mask;
        return run_layer(layer, {x, {}}, own);
      },
      *head_,
      has_experts_ ? own_mask(shared, "next_token_mask",
                              {normed.size(0), normed.size(1), prediction_->depths()}, tokens_)
                   : at::Tensor()};
  prediction_->add_losses(outputs, head_unit_.leave({normed}, false)[0], shared, model);
  return outputs;
}

std::vector<RoutedTokens> CausalLm::routed_tokens() const {
  std::vector<RoutedTokens> routed;
  for (const auto& [index, layer] : layers_) {
    if (const ExpertBlock* const experts = layer->feed_forward().experts())
      routed.push_back({index, experts->expert_tokens()});
  }
  return routed;
}

bool CausalLm::balances_load() const {
  return std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) {
    const ExpertBlock* const experts = layer.second->feed_forward().experts();
    return experts != nullptr && experts->balances_load();
  });
}

void CausalLm::balance(const std::vector<RoutedTokens>& of_all_ranks) {
  for (const auto& [layer, tokens] : of_all_ranks) {
    ExpertBlock& experts = *layers_.at(layer)->feed_forward().experts();
    if (experts.balances_load()) experts.balance(tokens);
  }
}

void CausalLm::end_step() {
  for (const auto& [index, layer] : layers_) {
    if (ExpertBlock* const experts = layer->feed_forward().experts()) experts->reset_expert_tokens();
  }
}

std::vector<UnitUse> CausalLm::unit_uses() {
  std::vector<UnitUse> uses;
  if (position_.is_first()) {
    std::vector<at::Tensor> weights = embed_tokens_->parameters();
    if (embed_norm_) weights.push_back(embed_norm_->weight);
    uses.push_back({"embedding", &embedding_unit_, std::move(weights), embed_norm_ != nullptr});
  }
  for (const auto& [index, layer] : layers_) {
    if (index >= num_hidden_layers_) break;
    uses.push_back({"layer " + std::to_string(index), &layer->unit, layer->parameters()});
  }
  if (norm_) {
    std::vector<at::Tensor> weights = norm_->parameters();
    for (const at::Tensor& weight : head_->weights()) weights.push_back(weight);
    for (const at::Tensor& parameter : head_->inner_parameters()) weights.push_back(parameter);
    uses.push_back({"head", &head_unit_, std::move(weights)});
  }
  if (prediction_) {
    for (UnitUse& use : prediction_->unit_uses(embed_tokens_->parameters(), head_->weights()))
      uses.push_back(std::move(use));
  }
  return uses;
}

TensorMap CausalLm::forward(const TensorMap& inputs, const TensorMap& shared) {
  return run(inputs, shared, nullptr);
}

// Allocates no memory: a cache does so on the model's device when it is first used.
std::unique_ptr<StageCache> CausalLm::make_cache(const CacheSize& size) const {
  D9D_REQUIRE(!shares_sequences_,
              "ranks that share sequences cannot generate; set mesh.context_parallel_shard and "
              "context_parallel_replicate to 1");
  for (const RotaryTable& table : rotary_) table.require_one_rotation(size.tokens);
  auto cache = std::make_unique<LayerCaches>();
  for (const auto& [index, layer] : layers_) {
    if (index < num_hidden_layers_) cache->layers[index] = layer->make_cache(size);
  }
  return cache;
}

// Frequencies that depend on the length of a sequence are those of its length with the new tokens; keys in the
// cache stay as they were turned. So does transformers' generate. What is computed beside a sequence, and how
// long it may become, change nothing. Ids and positions stay known to the host, so no op waits for them.
TensorMap CausalLm::extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                           const NewTokens& tokens) {
  auto* const own = dynamic_cast<LayerCaches*>(&cache);
  D9D_CHECK(own != nullptr, "the cache of another model was given");
  const c10::NoGradGuard no_gradients;
  const Device& device = device_of(options_.device);
  TensorMap with_positions;
  for (const auto& [name, tensor] : shared) with_positions[name] = upload(tensor, device);
  const std::int64_t ranks = tokens_.size(), counted = tokens.counted();
  const std::int64_t total = (counted + ranks - 1) / ranks * ranks;
  with_positions["position_ids"] = upload(tokens.positions(total), device);
  with_positions["sequence_length"] = tokens.lengths(total);
  const CachedPass pass{*own, tokens};
  if (!position_.is_first()) return run(inputs, with_positions, &pass);
  const at::Tensor ids = kernels::fetch_host_values(tensor_at(inputs, "input_ids", "stage inputs"));
  const at::Tensor padded = at::constant_pad_nd(ids, {0, total - ids.size(1)});
  return run({{"input_ids", upload(padded, device)}}, with_positions, &pass);
}

TensorMap CausalLm::run(const TensorMap& inputs, const TensorMap& shared, const CachedPass* pass) {
  at::Tensor hidden = position_.is_first()
                          ? embed(tensor_at(inputs, "input_ids", "stage inputs"), embedding_unit_)
                          : tensor_at(inputs, "hidden_states", "stage inputs");
  D9D_REQUIRE(hidden.dim() == 3 && hidden.size(2) == hidden_size_,
              "hidden_states has {} dimensions, expected [batch, sequence, {}]", hidden.dim(), hidden_size_);
  LayerContext context = angles(shared, hidden);
  context.pass = pass;
  if (has_experts_ && is_training())
    context.token_mask = own_mask(shared, "token_mask", {hidden.size(0), hidden.size(1)}, tokens_);
  const at::Tensor sums = router_sums(inputs, hidden);
  const at::Tensor earlier = snapshot(inputs, hidden);
  HiddenStateAggregator summary(summary_, shared, tokens_);
  if (position_.is_first()) summary.add(hidden);
  const Residual state = run_layers({std::move(hidden), {}, sums}, context, summary);
  TensorMap outputs;
  if (position_.is_last()) {
    outputs = head(state, shared, context);
    add_balance_loss(outputs, state, shared);
  } else {
    outputs["hidden_states"] = state.sum();
    if (state.router_sums.defined()) outputs["router_sums"] = state.router_sums;
  }
  if (summary.wanted()) outputs["hidden_states_snapshot"] = summary.pack_with_snapshot(earlier);
  return outputs;
}

}  // namespace d9d
