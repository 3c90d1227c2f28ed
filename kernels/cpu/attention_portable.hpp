#pragma once
// Attention by torch's own kernel, for cases that the blocked kernels do not support (no AVX-512, fp64,
// wide heads). torch's kernel takes a causal mask or a tensor of biases.

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels::cpu {

// The same as the entries of the op table, but all heads must be equally wide.
AttentionBlock attention_portable(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionMask& mask, double scale, at::ScalarType dtype,
                                  const VisibleKeys& visible = {});
AttentionBlockGradients attention_backward_portable(const at::Tensor& grad, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v,
                                                    const AttentionBlock& forward, const AttentionMask& mask,
                                                    double scale, at::ScalarType dtype,
                                                    const VisibleKeys& visible = {});

}  // namespace d9d::kernels::cpu
