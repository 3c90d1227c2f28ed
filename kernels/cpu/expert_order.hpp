#pragma once
// The op `expert_order`, also for the ops that begin with it.

#include "kernels/ops/moe_ops.hpp"

namespace d9d::kernels::cpu {

ExpertOrder expert_order(const at::Tensor& experts, int64_t num_experts);

}  // namespace d9d::kernels::cpu
