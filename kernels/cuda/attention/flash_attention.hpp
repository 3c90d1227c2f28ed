#pragma once
// FlashAttention 2 of ATen, for bfloat16. Values of another width than keys are filled up with zeros.

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/cuda/attention/documents.hpp"
#include "kernels/ops/attention_ops.hpp"

namespace d9d::cuda {

// Whether it takes such heads: on a GPU, of up to 256 elements, which can be read in packs.
bool has_heads_for_flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

// See kernels/ops/attention_ops.hpp; results are bfloat16. A mask has no limit, or its last query stands at the last
// key. `documents`: those of the rows, where there are several; then queries and keys are the same tokens.
kernels::AttentionBlock flash_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                        const kernels::AttentionMask& mask, double scale,
                                        const std::optional<Documents>& documents);
kernels::AttentionBlockGradients flash_attention_backward(const at::Tensor& grad, const at::Tensor& q,
                                                          const at::Tensor& k, const at::Tensor& v,
                                                          const kernels::AttentionBlock& forward,
                                                          const kernels::AttentionMask& mask, double scale,
                                                          const std::optional<Documents>& documents);

}  // namespace d9d::cuda
