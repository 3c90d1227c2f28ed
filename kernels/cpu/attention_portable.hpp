#pragma once
// Attention where the blocked kernels cannot run (no AVX-512, fp64, wide heads): by torch's own, which
// knows a causal mask and a tensor of biases.

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels::cpu {

// As the entries of the op table, but all heads are equally wide.
AttentionBlock attention_portable(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionMask& mask, double scale, at::ScalarType dtype,
                                  const FirstKeys& first_keys = {});
AttentionBlockGradients attention_backward_portable(const at::Tensor& grad, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v,
                                                    const AttentionBlock& forward, const AttentionMask& mask,
                                                    double scale, at::ScalarType dtype,
                                                    const FirstKeys& first_keys = {});

}  // namespace d9d::kernels::cpu
