#include "runtime/nn/block/attention.hpp"

#include <cmath>

#include "kernels/linear.hpp"
#include "kernels/rope.hpp"

namespace d9d {

GroupedQueryAttention::GroupedQueryAttention(ParameterMaker& make, const AttentionOptions& options)
    : options_(options) {
  const std::int64_t queries = options.num_heads * options.head_dim;
  const std::int64_t keys = options.num_kv_heads * options.head_dim;
  q_proj_ = make.child<Linear>(*this, "q_proj", options.hidden_size, queries);
  k_proj_ = make.child<Linear>(*this, "k_proj", options.hidden_size, keys);
  v_proj_ = make.child<Linear>(*this, "v_proj", options.hidden_size, keys);
  if (options.bias) {
    q_proj_->add_bias(make, "q_proj");
    k_proj_->add_bias(make, "k_proj");
    v_proj_->add_bias(make, "v_proj");
  }
  o_proj_ = make.child<Linear>(*this, "o_proj", queries, options.hidden_size);
  if (options.bias) o_proj_->add_bias(make, "o_proj");
  q_norm_ = make.child<RmsNorm>(*this, "q_norm", options.head_dim, options.norm_eps);
  k_norm_ = make.child<RmsNorm>(*this, "k_norm", options.head_dim, options.norm_eps);
}

// [B, S, K] -> [B, S, heads, D]
at::Tensor GroupedQueryAttention::key_heads(const at::Tensor& rows) const {
  const at::Tensor heads = rows.unflatten(-1, {-1, options_.head_dim});
  return key_head_ ? heads.narrow(2, *key_head_, 1) : heads;
}

at::Tensor GroupedQueryAttention::forward(const at::Tensor& x, const at::Tensor& cos,
                                          const at::Tensor& sin) const {
  const at::Tensor all = tokens_.gather(x);
  const auto projected =
      options_.bias ? kernels::linear_multi(all, {q_proj_->weight, k_proj_->weight, v_proj_->weight},
                                            {q_proj_->bias, k_proj_->bias, v_proj_->bias})
                    : kernels::linear_multi(all, {q_proj_->weight, k_proj_->weight, v_proj_->weight});
  const at::Tensor queries = projected[0].unflatten(-1, {-1, options_.head_dim});
  const auto [q, k] = kernels::qk_norm_rope(queries, key_heads(projected[1]), q_norm_->weight,
                                            k_norm_->weight, options_.norm_eps, cos, sin);
  const double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
  const at::Tensor mixed = core_->mix(q, k, key_heads(projected[2]), scale);
  return o_proj_->forward_shared(mixed.flatten(2), tokens_);
}

}  // namespace d9d
