#include "runtime/nn/decoder_layer.hpp"

#include <ATen/ops/add.h>

#include "kernels/norm.hpp"

namespace d9d {

at::Tensor Residual::sum() const {
  return delta.defined() ? at::add(residual, delta) : residual;
}

std::pair<at::Tensor, at::Tensor> add_and_norm(const Residual& hidden, const RmsNorm& norm) {
  const bool adds = hidden.delta.defined();
  auto [normed, sum] = kernels::add_rms_norm(adds ? hidden.delta : hidden.residual,
                                             adds ? hidden.residual : at::Tensor(), norm.weight, norm.eps);
  return {std::move(normed), std::move(sum)};
}

DecoderLayer::DecoderLayer(ParameterMaker& make, const Qwen3Config& config, std::int64_t layer_index) {
  input_layernorm_ = make.child<RmsNorm>(*this, "input_layernorm", config.hidden_size, config.rms_norm_eps);
  self_attn_ = make.child<GroupedQueryAttention>(
      *this, "self_attn",
      AttentionOptions{config.hidden_size, config.num_attention_heads, config.num_key_value_heads,
                       config.head_dim, config.rms_norm_eps, config.attention_bias});
  post_attention_layernorm_ =
      make.child<RmsNorm>(*this, "post_attention_layernorm", config.hidden_size, config.rms_norm_eps);
  if (config.is_sparse_layer(layer_index)) {
    const auto sparse = make.child<MixtureOfExperts>(
        *this, "mlp",
        MoeOptions{config.hidden_size, config.moe_intermediate_size, config.num_experts,
                   config.num_experts_per_tok, config.norm_topk_prob});
    experts_ = sparse.get();
    mlp_ = sparse;
  } else {
    const auto dense = make.child<SwiGlu>(*this, "mlp", config.hidden_size, config.intermediate_size);
    dense_ = dense.get();
    mlp_ = dense;
  }
}

Residual DecoderLayer::forward(const Residual& hidden, const LayerContext& context, bool recompute) const {
  const std::vector<at::Tensor> entered = unit.enter({hidden.residual, hidden.delta}, recompute);
  const auto [before_attention, entering] = add_and_norm({entered[0], entered[1]}, *input_layernorm_);
  const Residual middle{entering, self_attn_->forward(before_attention, context.cos, context.sin)};
  const auto [before_mlp, residual] = add_and_norm(middle, *post_attention_layernorm_);
  const std::vector<at::Tensor> left =
      unit.leave({residual, mlp_->forward(before_mlp, recompute)}, recompute);
  return {left[0], left[1]};
}

}  // namespace d9d
