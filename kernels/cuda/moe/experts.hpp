#pragma once
// What the ops of experts are made of: kernels as plain functions, and functions over tensors that several files share.

#include <ATen/core/Tensor.h>

#include "kernels/ops/moe_ops.hpp"

namespace d9d::cuda {

// As the op expert_order.
kernels::ExpertOrder order_of(const at::Tensor& experts, int64_t num_experts);

// As the op combine_rows; scale [T, k], or by row, [R]. `also`: more rows, which are added to these; may be undefined.
at::Tensor combined(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale, bool scale_by_row,
                    const at::Tensor& also = {});
// in and weight as of the op grouped_product, which writes the result into a tensor that is there.
at::Tensor grouped_product(const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
                           bool transposed);
// into, grad and in as of the op grouped_dw.
void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta);

}  // namespace d9d::cuda
