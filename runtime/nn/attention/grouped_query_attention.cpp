#include "runtime/nn/attention/grouped_query_attention.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>

#include <cmath>

#include "kernels/attention/sinks.hpp"
#include "kernels/run_op.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/attention/key_value_cache.hpp"

namespace d9d {

GroupedQueryAttention::GroupedQueryAttention(ParameterMaker& make, const AttentionOptions& options)
    : options_(options), num_heads_(options.num_heads) {
  const std::int64_t hidden = options.hidden_size;
  const std::int64_t queries = options.num_heads * options.head_dim;
  q_proj_ = make.child<Linear>(*this, "q_proj", hidden, options.output_gate ? 2 * queries : queries);
  k_proj_ = make.child<Linear>(*this, "k_proj", hidden, options.num_kv_heads * options.head_dim);
  v_proj_ = make.child<Linear>(*this, "v_proj", hidden, options.num_kv_heads * options.value_head_dim);
  if (options.qkv_bias) {
    q_proj_->add_bias(make, "q_proj");
    k_proj_->add_bias(make, "k_proj");
    v_proj_->add_bias(make, "v_proj");
  }
  o_proj_ = make.child<Linear>(*this, "o_proj", options.num_heads * options.value_head_dim, hidden);
  if (options.output_bias) o_proj_->add_bias(make, "o_proj");
  if (options.sinks) sinks_ = make.normal(*this, "sinks", {options.num_heads});
  bias_ = make_position_bias(make, *this, options);
  if (!options.qk_norm) return;
  const auto norm = [&](const char* name) {
    return make.child<RmsNorm>(*this, name, options.head_dim, options.norm_eps, options.zero_centered_norm);
  };
  q_norm_ = norm("q_norm");
  k_norm_ = norm("k_norm");
}

void GroupedQueryAttention::shard(TensorParallel& tensor, const ActivationShards& tokens) {
  require_divisible_heads(options_, tensor.size());
  tokens_ = tokens;
  num_heads_ = options_.num_heads / tensor.size();
  tensor.column(q_proj_->weight, q_proj_->bias);
  tensor.row(o_proj_->weight);
  if (sinks_.defined()) tensor.shard(sinks_, 0);
  if (bias_) bias_->shard(tensor);
  if (options_.num_kv_heads % tensor.size() != 0) {
    key_head_ = tensor.rank() * options_.num_kv_heads / tensor.size();
    return;
  }
  tensor.column(k_proj_->weight, k_proj_->bias);
  tensor.column(v_proj_->weight, v_proj_->bias);
}

void GroupedQueryAttention::set_core(std::shared_ptr<const AttentionCore> core) {
  D9D_REQUIRE(
      !bias_ || core->takes_bias(),
      "attention with a bias of its scores (ALiBi, buckets of distances or a model's own) cannot be shared "
      "by ring attention, whose blocks do not know all positions; set parallelism.context.attention: "
      "ulysses, or mesh.context_parallel_shard and context_parallel_replicate to 1");
  core_ = std::move(core);
}

// [B, S, K] -> [B, S, heads, dim]
at::Tensor GroupedQueryAttention::key_heads(const at::Tensor& rows, std::int64_t dim) const {
  const at::Tensor heads = rows.unflatten(-1, {-1, dim});
  return key_head_ ? heads.narrow(2, *key_head_, 1) : heads;
}

kernels::ProjectedHeads GroupedQueryAttention::rotated(const kernels::ProjectedHeads& heads,
                                                       const at::Tensor& cos, const at::Tensor& sin) const {
  if (!options_.rotary) {
    if (!options_.qk_norm) return heads;
    return {q_norm_->forward(heads.q), k_norm_->forward(heads.k), heads.v};
  }
  const auto style = options_.interleaved ? kernels::RopeStyle::interleaved : kernels::RopeStyle::half;
  if (!options_.qk_norm) return kernels::rope(heads, cos, sin, style);
  return kernels::qk_norm_rope(heads, q_norm_->weight, k_norm_->weight, options_.norm_eps, cos, sin, style,
                               options_.zero_centered_norm);
}

at::Tensor GroupedQueryAttention::attended(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                           const AttentionCore& core,
                                           const at::Tensor& document_starts) const {
  const auto projected = linear_multi(tokens_.gather(x), {*q_proj_, *k_proj_, *v_proj_});
  const at::Tensor heads = projected[0].unflatten(-1, {num_heads_, -1});
  // One split for all parts: its backward concatenates their gradients in one pass.
  const std::int64_t width = options_.head_dim;
  const auto parts = options_.output_gate ? heads.split_with_sizes({width, width}, -1) : std::vector{heads};
  kernels::ProjectedHeads projections{parts[0], key_heads(projected[1], options_.head_dim), {}};
  const at::Tensor values = key_heads(projected[2], options_.value_head_dim);
  // With the values, the three gradients lie side by side, and the projection's are a product each. GPUs gain by it; a
  // CPU does not (README), and the delayed device has its bits.
  if (kernels::place_of(values) == kernels::Place::gpu) projections.v = values;
  const auto [q, k, v] = rotated(projections, cos, sin);
  const double scale =
      options_.scale > 0 ? options_.scale : 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
  const at::Tensor mixed = core.attend(q, k, v.defined() ? v : values,
                                       {scale, options_.window, document_starts, options_.causal,
                                        sinks_.defined() ? kernels::sink_logits(sinks_) : sinks_, bias_});
  const at::Tensor gated = options_.output_gate ? at::mul(mixed, at::sigmoid(parts[1])) : mixed;
  return o_proj_->forward_shared(gated.flatten(2), tokens_);
}

at::Tensor GroupedQueryAttention::forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                          const at::Tensor& document_starts) const {
  return attended(x, cos, sin, *core_, document_starts);
}

std::unique_ptr<BlockCache> GroupedQueryAttention::make_cache(const CacheSize& size) const {
  D9D_REQUIRE(
      options_.causal,
      "tokens of this model see those after them (is_causal false), so it cannot generate a text token by "
      "token; take it for embeddings or classification, or a model with is_causal true");
  return std::make_unique<KeyValueCache>(size);
}

at::Tensor GroupedQueryAttention::forward_cached(const at::Tensor& x, const at::Tensor& cos,
                                                 const at::Tensor& sin, BlockCache& cache,
                                                 const NewTokens& tokens) const {
  return attended(x, cos, sin, CachedAttention(cache, tokens));
}

}  // namespace d9d
