#pragma once
// The seam between what all devices share (shape checks, autograd nodes, weight work) and what each device does
// in its own way: each device type has a table of its ops, which run_op (kernels/run_op.hpp) chooses from.

#include "kernels/ops/attention_ops.hpp"
#include "kernels/ops/cache_ops.hpp"
#include "kernels/ops/cross_entropy_ops.hpp"
#include "kernels/ops/dense_ops.hpp"
#include "kernels/ops/expert_ops.hpp"
#include "kernels/ops/moe_ops.hpp"
#include "kernels/ops/optimizer_ops.hpp"
#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

// What a device can do. An op that is left out is refused by name when it is needed.
struct OpTable : DenseOps,
                 AttentionOps,
                 CacheOps,
                 CrossEntropyOps,
                 MoeOps,
                 ExpertOps,
                 OptimizerOps,
                 RecurrentOps {};

}  // namespace d9d::kernels
