#pragma once
// Attention by torch's own kernel, for cases that the blocked kernels do not support (no AVX-512, fp64,
// wide heads). torch's kernel takes a causal mask or a tensor of biases.

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels::cpu {

// The limits (VisibleKeys) of the keys that the queries of a sequence see; null when there are none.
inline const int64_t* limits_of(const at::Tensor& of_all, int64_t batch) {
  return of_all.defined() ? of_all.const_data_ptr<int64_t>() + batch * of_all.size(1) : nullptr;
}

// The same as the entries of the op table, but all heads must be equally wide.
AttentionBlock attention_portable(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionMask& mask, double scale, at::ScalarType dtype,
                                  const VisibleKeys& visible = {}, const ScoreBias& bias = {});
AttentionBlockGradients attention_backward_portable(const at::Tensor& grad, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v,
                                                    const AttentionBlock& forward, const AttentionMask& mask,
                                                    double scale, at::ScalarType dtype,
                                                    const VisibleKeys& visible = {},
                                                    const ScoreBias& bias = {});

}  // namespace d9d::kernels::cpu
