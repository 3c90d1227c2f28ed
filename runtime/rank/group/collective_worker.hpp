#pragma once
// The work of a Collective actor, on its thread: reductions over one group of ranks, in program
// order. No torch in this header.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/reduce_op.hpp"

namespace d9d {

class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;
  // Opens the communicators: waits for the other ranks of the group.
  virtual void prepare() = 0;
  // Closes them, until prepare() opens others.
  virtual void close() = 0;
  virtual const std::string& name() const = 0;
  // What reduce_bucket does, for traces: "all_reduce" or "reduce_scatter".
  virtual const char* reduction() const = 0;
  // Sums the bucket's gradients over the group: in place,
  // or reduce-scattered from the whole gradients of a unit.
  // Returns this rank's share of the gradient norm (norm_type.hpp); 0 while further microbatches, or the other
  // stage that holds a tied weight, will add to it, and on a device, where the rank has launched the sum already.
  virtual double reduce_bucket(int bucket) = 0;
  virtual std::uint64_t bucket_bytes(int bucket) const = 0;
  virtual void reduce_values(std::vector<double>& values, ReduceOp operation) = 0;
};

}  // namespace d9d
