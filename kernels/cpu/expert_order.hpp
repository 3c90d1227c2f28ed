#pragma once
// The op `expert_order`, for the op table and for other ops that call it.

#include "kernels/ops/moe_ops.hpp"

namespace d9d::kernels::cpu {

ExpertOrder expert_order(const at::Tensor& experts, int64_t num_experts);

}  // namespace d9d::kernels::cpu
