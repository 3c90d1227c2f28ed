#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// loss[t] = logsumexp(z) - z[labels[t]] with z = weight hidden[t]; 0 where labels[t] == ignore_index.
// hidden [T, H], weight [V, H] of one dtype, labels int64 [T] -> fp32 [T] (fp64 for fp64).
// The logits exist for a block of tokens at a time only. When gradients are wanted, forward also makes them,
// for an upstream gradient of one per token: d hidden [T, H] and, while the current WeightWork's temporary
// slot is free (or there is no WeightWork), d weight [V, H]. Backward scales them when the upstream gradient
// is the same for all tokens that count (the usual mean or sum) and computes the blocks once more when it is
// not, or when the slot was taken.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                                int64_t ignore_index = -100);

}  // namespace d9d::kernels
