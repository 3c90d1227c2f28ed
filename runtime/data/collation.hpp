#pragma once
// Turns the samples of a microbatch into its tensors. A job without `collation` stacks them
// (make_microbatch() in read_microbatch.hpp); a plugin may register another way.
// Immutable once built; any number of threads may call it.

#include <span>

#include "runtime/data/sample_source.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Immutable once built; any number of threads may call it.
class Collation {
 public:
  virtual ~Collation() = default;
  // Returns the batch that the task sees, on the CPU. Must be a pure function of the samples,
  // because a run may be resumed on other ranks.
  // Where the mesh splits sequences (context parallelism), the batch must have input_ids int64 [B,
  // S], and every tensor whose shape begins with B and S is cut by token.
  // Where samples are padded, add token_mask bool [B, S], false for padding, so that routers,
  // throughput and the like do not count it. Nested batches: tensor_tree.hpp.
  virtual TensorMap collate(std::span<const Sample> samples) const = 0;
};

}  // namespace d9d
