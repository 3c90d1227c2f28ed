#pragma once
// The table of the ops that each device type implements. run_op (kernels/run_op.hpp) finds the
// table by the tensors' device. Shape checks, autograd nodes and weight work are above it and the
// same for all devices.

#include "kernels/ops/attention_ops.hpp"
#include "kernels/ops/cache_ops.hpp"
#include "kernels/ops/cross_entropy_ops.hpp"
#include "kernels/ops/dense_ops.hpp"
#include "kernels/ops/expert_ops.hpp"
#include "kernels/ops/memory_ops.hpp"
#include "kernels/ops/moe_ops.hpp"
#include "kernels/ops/optimizer_ops.hpp"
#include "kernels/ops/place.hpp"
#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

// The ops of one device type. An op that is left out throws an error with its name when it is called.
struct OpTable : DenseOps,
                 AttentionOps,
                 CacheOps,
                 CrossEntropyOps,
                 MoeOps,
                 ExpertOps,
                 OptimizerOps,
                 RecurrentOps,
                 MemoryOps {
  Place place = Place::other;
};

}  // namespace d9d::kernels
