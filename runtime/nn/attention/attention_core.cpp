#include "runtime/nn/attention/attention_core.hpp"

#include <ATen/ops/searchsorted.h>

#include "kernels/attention/attention.hpp"
#include "runtime/nn/attention/attention_bias.hpp"

namespace d9d {

kernels::AttentionMask mask_of(const AttentionRule& rule) {
  if (rule.causal)
    return rule.window > 0 ? kernels::AttentionMask{rule.window - 1, 0, 0} : kernels::causal_mask;
  return rule.window > 0 ? kernels::AttentionMask{rule.window, rule.window, 0} : kernels::full_mask;
}

kernels::VisibleKeys visible_keys(const AttentionRule& rule) {
  const at::Tensor& starts = rule.document_starts;
  if (rule.causal || !starts.defined()) return {starts};
  // A document ends before the first token with a later start: starts ascend in each row.
  return {starts, at::searchsorted(starts, starts, /*out_int32=*/false, /*right=*/true)};
}

kernels::ScoreBias bias_of(const AttentionRule& rule, const at::Tensor& q, const at::Tensor& k,
                           std::int64_t first_head, std::int64_t first_query) {
  if (!rule.bias) return {};
  return rule.bias->of({.first_query = first_query,
                        .queries = q.size(1),
                        .keys = k.size(1),
                        .first_head = first_head,
                        .heads = q.size(2),
                        .device = q.device(),
                        .dtype = q.scalar_type()});
}

at::Tensor LocalAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionRule& rule) const {
  return kernels::attention(q, k, v, mask_of(rule), rule.scale, visible_keys(rule), rule.sinks,
                            bias_of(rule, q, k));
}

}  // namespace d9d
