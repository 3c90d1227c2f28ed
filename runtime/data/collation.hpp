#pragma once
// How the samples of a microbatch become its tensors. A job without `collation` stacks them (make_microbatch in
// read_microbatch.hpp); a plugin registers others.

#include <span>

#include "runtime/data/sample_source.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Immutable once built; any number of threads may call it.
class Collation {
 public:
  virtual ~Collation() = default;
  // The batch that the task sees, on the CPU. A pure function of the samples, so that a run may go on with other
  // ranks. Where the mesh splits sequences (context parallelism), input_ids int64 [B, S] is among the tensors, and all
  // tensors that begin with B and S are cut by token. Where it fills rows up: token_mask bool [B, S], false for what
  // fills them up, so that routers, throughput and the like do not count it. Nested batches: tensor_tree.hpp.
  virtual TensorMap collate(std::span<const Sample> samples) const = 0;
};

}  // namespace d9d
