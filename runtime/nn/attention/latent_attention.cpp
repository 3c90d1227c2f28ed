#include "runtime/nn/attention/latent_attention.hpp"

#include <ATen/ops/cat.h>

#include "kernels/attention/rope.hpp"
#include "runtime/nn/attention/key_value_cache.hpp"

namespace d9d {
namespace {

constexpr double latent_norm_eps = 1e-6;

}  // namespace

// Makes the projections to latents one after the other: they read the same input, and
// adjacent weights need only one product.
LatentAttention::LatentAttention(ParameterMaker& make, const LatentAttentionOptions& options)
    : options_(options), num_heads_(options.num_heads) {
  const std::int64_t hidden = options.hidden_size, heads = options.num_heads;
  const std::int64_t query_rank = options.query_rank, joint = options.key_rank + options.rotary_dim;
  if (query_rank > 0) q_a_proj_ = make.child<Linear>(*this, "q_a_proj", hidden, query_rank);
  kv_a_proj_ = make.child<Linear>(*this, "kv_a_proj_with_mqa", hidden, joint);
  if (options.bias && q_a_proj_) q_a_proj_->add_bias(make, "q_a_proj");
  if (options.bias) kv_a_proj_->add_bias(make, "kv_a_proj_with_mqa");
  if (query_rank > 0) {
    q_a_layernorm_ = make.child<RmsNorm>(*this, "q_a_layernorm", query_rank, latent_norm_eps);
    q_proj_ = make.child<Linear>(*this, "q_b_proj", query_rank, heads * options.head_dim());
  } else {
    q_proj_ = make.child<Linear>(*this, "q_proj", hidden, heads * options.head_dim());
  }
  kv_a_layernorm_ = make.child<RmsNorm>(*this, "kv_a_layernorm", options.key_rank, latent_norm_eps);
  kv_b_proj_ = make.child<Linear>(*this, "kv_b_proj", options.key_rank,
                                  heads * (options.plain_dim + options.value_dim));
  o_proj_ = make.child<Linear>(*this, "o_proj", heads * options.value_dim, hidden);
  if (options.bias) o_proj_->add_bias(make, "o_proj");
}

void LatentAttention::shard(TensorParallel& tensor, const ActivationShards& tokens) {
  require_divisible_heads(options_, tensor.size());
  tokens_ = tokens;
  num_heads_ = options_.num_heads / tensor.size();
  tensor.column(q_proj_->weight);
  tensor.column(kv_b_proj_->weight);
  tensor.row(o_proj_->weight);
}

// The normed latent, and k_rot.
at::Tensor LatentAttention::key_latent(const at::Tensor& joint) const {
  const auto parts = joint.split_with_sizes({options_.key_rank, options_.rotary_dim}, -1);
  return at::cat({kv_a_layernorm_->forward(parts[0].contiguous()), parts[1]}, -1);
}

LatentAttention::Heads LatentAttention::projected(const at::Tensor& x) const {
  if (!q_a_proj_)
    return {q_proj_->forward(tokens_.gather(x)), tokens_.gather(key_latent(kv_a_proj_->forward(x)))};
  const auto latents = linear_multi(x, {*q_a_proj_, *kv_a_proj_});
  const at::Tensor own =
      at::cat({q_a_layernorm_->forward(latents[0].contiguous()), key_latent(latents[1])}, -1);
  const auto all = tokens_.gather(own).split_with_sizes(
      {options_.query_rank, options_.key_rank + options_.rotary_dim}, -1);
  return {q_proj_->forward(all[0].contiguous()), all[1]};
}

at::Tensor LatentAttention::attended(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                     const AttentionCore& core, const at::Tensor& document_starts) const {
  const auto [queries, keys] = projected(x);
  const auto q =
      queries.unflatten(-1, {num_heads_, -1}).split_with_sizes({options_.plain_dim, options_.rotary_dim}, -1);
  const auto k = keys.split_with_sizes({options_.key_rank, options_.rotary_dim}, -1);
  const auto kv = kv_b_proj_->forward(k[0].contiguous())
                      .unflatten(-1, {num_heads_, -1})
                      .split_with_sizes({options_.plain_dim, options_.value_dim}, -1);
  const auto style = options_.interleaved ? kernels::RopeStyle::interleaved : kernels::RopeStyle::half;
  const auto [q_rotated, k_rotated] =
      kernels::rope(q[1].contiguous(), k[1].unsqueeze(2).contiguous(), cos, sin, style);
  const at::Tensor shared = k_rotated.expand({-1, -1, num_heads_, -1});
  const at::Tensor mixed = core.attend(at::cat({q[0], q_rotated}, -1), at::cat({kv[0], shared}, -1),
                                       kv[1].contiguous(), {options_.scale, 0, document_starts});
  return o_proj_->forward_shared(mixed.flatten(2), tokens_);
}

at::Tensor LatentAttention::forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                    const at::Tensor& document_starts) const {
  return attended(x, cos, sin, *core_, document_starts);
}

std::unique_ptr<BlockCache> LatentAttention::make_cache(const CacheSize& size) const {
  return std::make_unique<KeyValueCache>(size);
}

at::Tensor LatentAttention::forward_cached(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                           BlockCache& cache, const NewTokens& tokens) const {
  return attended(x, cos, sin, CachedAttention(cache, tokens));
}

}  // namespace d9d
