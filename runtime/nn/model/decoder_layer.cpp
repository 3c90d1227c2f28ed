#include "runtime/nn/model/decoder_layer.hpp"

#include <ATen/ops/add.h>

#include "kernels/graph/kept_results.hpp"
#include "kernels/norm.hpp"
#include "runtime/nn/model/layer_caches.hpp"

namespace d9d {
namespace {

at::Tensor normed_by(const std::shared_ptr<RmsNorm>& norm, const at::Tensor& x) {
  return norm ? norm->forward(x) : x;
}

}  // namespace

at::Tensor Residual::sum() const {
  return delta.defined() ? at::add(residual, delta) : residual;
}

std::pair<at::Tensor, at::Tensor> add_and_norm(const Residual& hidden, const RmsNorm& norm) {
  const bool adds = hidden.delta.defined();
  const at::Tensor& x = adds ? hidden.delta : hidden.residual;
  const at::Tensor other = adds ? hidden.residual : at::Tensor();
  auto [normed, sum] = norm.kind == NormKind::layer
                           ? kernels::add_layer_norm(x, other, norm.weight, norm.eps)
                           : kernels::add_rms_norm(x, other, norm.weight, norm.eps, norm.zero_centered);
  return {std::move(normed), std::move(sum)};
}

at::Tensor DecoderLayer::attended(const at::Tensor& x, const LayerContext& context) const {
  const at::Tensor& cos = window_rope_ ? context.window_cos : context.cos;
  const at::Tensor& sin = window_rope_ ? context.window_sin : context.sin;
  if (context.cache == nullptr) return self_attn_->forward(x, cos, sin, context.document_starts);
  return self_attn_->forward_cached(x, cos, sin, *context.cache, context.pass->tokens);
}

std::pair<at::Tensor, at::Tensor> DecoderLayer::entering_attention(const Residual& hidden) const {
  if (input_layernorm_) return add_and_norm(hidden, *input_layernorm_);
  const at::Tensor sum = hidden.sum();
  return {sum, sum};
}

at::Tensor DecoderLayer::fed(const at::Tensor& x, const LayerContext& context, bool recompute) const {
  return mlp_->forward(x, recompute, context.token_mask);
}

Residual DecoderLayer::run(const Residual& hidden, const LayerContext& context, bool recompute) const {
  const auto [before_attention, entering] = entering_attention(hidden);
  const Residual middle{entering, normed_by(attended_norm_, attended(before_attention, context))};
  const auto [before_mlp, residual] = add_and_norm(middle, *post_attention_layernorm_);
  const at::Tensor mixed = fed(before_mlp, context, recompute);
  // Then it is only a part of the layer's output, which nobody reads when the layer is computed again.
  if (!fed_norm_) kernels::mark_unread(mixed);
  return {residual, normed_by(fed_norm_, mixed)};
}

Residual DecoderLayer::forward(const Residual& hidden, const LayerContext& context, bool recompute) const {
  const std::vector<at::Tensor> entered =
      unit.enter({hidden.residual, hidden.delta, hidden.router_sums}, recompute);
  const Residual after = run({entered[0], entered[1]}, context, recompute);
  at::Tensor sums = entered[2];
  ExpertBlock* const experts = mlp_->experts();
  if (sums.defined() && experts != nullptr) sums = at::add(sums, experts->take_router_sums());
  const std::vector<at::Tensor> left = unit.leave({after.residual, after.delta, sums}, recompute);
  return {left[0], left[1], left[2]};
}

}  // namespace d9d
