#include "runtime/nn/attention/attention_core.hpp"

#include "kernels/attention/attention.hpp"

namespace d9d {

kernels::AttentionMask mask_of(const AttentionRule& rule) {
  kernels::AttentionMask mask = kernels::causal_mask;
  if (rule.window > 0) mask.before = rule.window - 1;
  return mask;
}

at::Tensor LocalAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionRule& rule) const {
  return kernels::attention(q, k, v, mask_of(rule), rule.scale, {rule.document_starts});
}

}  // namespace d9d
