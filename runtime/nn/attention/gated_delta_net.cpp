#include "runtime/nn/attention/gated_delta_net.hpp"

#include <ATen/ops/cat.h>

#include <cmath>

#include "kernels/activation.hpp"
#include "kernels/attention/delta_gates.hpp"
#include "kernels/attention/delta_rule.hpp"
#include "kernels/attention/short_convolution.hpp"
#include "kernels/attention/token_cache.hpp"
#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/attention/delta_cache.hpp"

namespace d9d {

ShortConvolution::ShortConvolution(ParameterMaker& make, std::int64_t channels, std::int64_t taps) {
  weight = make.normal(*this, "weight", {channels, 1, taps});
}

GatedDeltaNet::GatedDeltaNet(ParameterMaker& make, const DeltaNetOptions& options)
    : options_(options),
      key_heads_(options.num_key_heads),
      group_(options.num_value_heads / options.num_key_heads) {
  const std::int64_t hidden = options.hidden_size, keys = options.keys(), values = options.values();
  in_proj_qkvz_ = make.child<Linear>(*this, "in_proj_qkvz", hidden, 2 * (keys + values));
  in_proj_ba_ = make.child<Linear>(*this, "in_proj_ba", hidden, 2 * options.num_value_heads);
  conv1d_ = make.child<ShortConvolution>(*this, "conv1d", 2 * keys + values, options.taps);
  if (options.gate == DecayGate::mamba) {
    dt_bias_ = make.constant(*this, "dt_bias", {options.num_value_heads}, 1.0F);
    log_rate_ = make.log_uniform(*this, "A_log", {options.num_value_heads}, 16.0F);
  }
  norm_ = make.child<RmsNorm>(*this, "norm", options.value_head_dim, options.norm_eps);
  out_proj_ = make.child<Linear>(*this, "out_proj", values, hidden);
}

void GatedDeltaNet::shard(TensorParallel& tensor, const ActivationShards& tokens) {
  require_divisible_heads(options_, tensor.size());
  tokens_ = tokens;
  key_heads_ = options_.num_key_heads / tensor.size();
  first_key_head_ = tensor.rank() * key_heads_;
  tensor.column(in_proj_qkvz_->weight);
  tensor.column(in_proj_ba_->weight);
  for (const at::Tensor& of_heads : {dt_bias_, log_rate_})
    if (of_heads.defined()) tensor.shard(of_heads, 0);
  tensor.row(out_proj_->weight);
}

void GatedDeltaNet::set_core(std::shared_ptr<const AttentionCore> /*core*/) {
  throw Error(ErrorKind::input,
              "a gated delta net cannot share sequences between ranks; set mesh.context_parallel_shard and "
              "context_parallel_replicate to 1");
}

kernels::DeltaRuleOptions GatedDeltaNet::rule() const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(options_.key_head_dim));
  return {.scale = scale, .normalise = true, .chunk = delta_chunk};
}

// qkv: each [B, S, key heads, ..]; gates [B, S, key heads, 2 group].
GatedDeltaNet::DeltaInputs GatedDeltaNet::delta_inputs(const std::vector<at::Tensor>& qkv,
                                                       const at::Tensor& gates,
                                                       const Convolve& convolve) const {
  const std::int64_t keys = options_.keys();
  const std::int64_t first_key = first_key_head_ * options_.key_head_dim;
  const std::int64_t first_value = 2 * keys + first_key_head_ * group_ * options_.value_head_dim;
  const auto convolved =
      convolve({.x = {qkv[0], qkv[1], qkv[2]}, .first = {first_key, keys + first_key, first_value}});
  const at::Tensor v = convolved[2].flatten(2).unflatten(-1, {num_heads(), -1});
  const auto [decay, beta] = options_.gate == DecayGate::mamba
                                 ? kernels::delta_gates(gates, log_rate_, dt_bias_)
                                 : kernels::logsigmoid_gates(gates, options_.gate_normalizer);
  return {convolved[0], convolved[1], v, decay, beta};
}

// [B, S, value heads, Dv].
at::Tensor GatedDeltaNet::mixed(const std::vector<at::Tensor>& qkv, const at::Tensor& gates) const {
  const auto convolve = [this](const kernels::ConvolutionInputs& in) {
    return kernels::short_convolution(in, conv1d_->weight);
  };
  const auto [q, k, v, decay, beta] = delta_inputs(qkv, gates, convolve);
  return kernels::gated_delta_rule(q, k, v, decay, beta, rule());
}

// Computes each document by itself, because neither the convolution nor the
// state may reach into the one before.
at::Tensor GatedDeltaNet::mixed_by_document(const std::vector<at::Tensor>& qkv, const at::Tensor& gates,
                                            const at::Tensor& document_starts) const {
  const std::int64_t length = document_starts.size(1);
  const at::Tensor starts = kernels::fetch_host_values(document_starts).contiguous();
  const auto* start = starts.const_data_ptr<std::int64_t>();
  std::vector<at::Tensor> rows;
  for (std::int64_t b = 0; b < document_starts.size(0); ++b, start += length) {
    std::vector<at::Tensor> documents;
    for (std::int64_t first = 0, end = 0; first < length; first = end) {
      while (end < length && start[end] == start[first]) ++end;
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, b, 1).narrow(1, first, end - first); };
      documents.push_back(mixed({part(qkv[0]), part(qkv[1]), part(qkv[2])}, part(gates)));
    }
    rows.push_back(at::cat(documents, 1));
  }
  return at::cat(rows, 0);
}

// Computes the projections before and after `mix`, which returns [B, S, value heads, Dv].
at::Tensor GatedDeltaNet::around(const at::Tensor& x, const Mix& mix) const {
  const at::Tensor all = tokens_.gather(x);
  const std::int64_t dk = options_.key_head_dim, wide = group_ * options_.value_head_dim;
  // One split for all parts: its backward concatenates their gradients in one pass.
  const auto qkvz =
      in_proj_qkvz_->forward(all).unflatten(-1, {key_heads_, -1}).split_with_sizes({dk, dk, wide, wide}, -1);
  const at::Tensor gates = in_proj_ba_->forward(all).unflatten(-1, {key_heads_, -1});
  const at::Tensor normed = norm_->forward(mix(qkvz, gates));
  const at::Tensor gated = kernels::silu_mul(qkvz[3], normed.view(qkvz[3].sizes()));
  return out_proj_->forward_shared(gated.flatten(2), tokens_);
}

at::Tensor GatedDeltaNet::forward(const at::Tensor& x, const at::Tensor& /*cos*/, const at::Tensor& /*sin*/,
                                  const at::Tensor& document_starts) const {
  return around(x, [&](const std::vector<at::Tensor>& qkv, const at::Tensor& gates) {
    return document_starts.defined() ? mixed_by_document(qkv, gates, document_starts) : mixed(qkv, gates);
  });
}

std::unique_ptr<BlockCache> GatedDeltaNet::make_cache(const CacheSize& size) const {
  return std::make_unique<DeltaCache>(size, options_.taps);
}

at::Tensor GatedDeltaNet::forward_cached(const at::Tensor& x, const at::Tensor& /*cos*/,
                                         const at::Tensor& /*sin*/, BlockCache& cache,
                                         const NewTokens& tokens) const {
  auto* const kept = dynamic_cast<DeltaCache*>(&cache);
  D9D_CHECK(kept != nullptr, "the cache of another block was given to a gated delta net");
  const auto convolve = [&](const kernels::ConvolutionInputs& in) {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      all.push_back(kept->convolved(i, in.x[i], tokens, [&](const at::Tensor& x) {
        return kernels::short_convolution(x, conv1d_->weight, in.first[i]);
      }));
    }
    return all;
  };
  return around(x, [&](const std::vector<at::Tensor>& qkv, const at::Tensor& gates) {
    const auto [q, k, v, decay, beta] = delta_inputs(qkv, gates, convolve);
    const at::Tensor states = kept->states({v.size(2), q.size(3), v.size(3)}, decay, tokens);
    return kernels::delta_rule_steps(q[0], k[0], v[0], decay[0], beta[0], states, tokens.stretches, rule())
        .unsqueeze(0);
  });
}

}  // namespace d9d
