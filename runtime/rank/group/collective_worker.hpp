#pragma once
// The work of a Collective actor: reductions over one group of ranks, in program order. Call it on the
// actor's thread. No torch in this header.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/reduce_op.hpp"

namespace d9d {

class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;
  // Opens the communicators. Waits for the other ranks of the group.
  virtual void prepare() = 0;
  // Closes the communicators. prepare() may open new ones.
  virtual void close() = 0;
  virtual const std::string& name() const = 0;
  // The collective of reduce_bucket(), for traces: "all_reduce" or "reduce_scatter".
  virtual const char* reduction() const = 0;
  // Sums the bucket's gradients over the group, in place or reduce-scattered from the whole gradients of a
  // unit. Returns this rank's share of the gradient norm (norm_type.hpp). Returns 0 while further
  // microbatches, or the other stage of a tied weight, will still add to the bucket. On a device it returns
  // 0, too, and does not sum: the rank has launched the sum already.
  virtual double reduce_bucket(int bucket) = 0;
  virtual std::uint64_t bucket_bytes(int bucket) const = 0;
  virtual void reduce_values(std::vector<double>& values, ReduceOp operation) = 0;
};

}  // namespace d9d
