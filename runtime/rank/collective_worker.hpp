#pragma once
// What a Collective actor runs on its thread: reductions of one group of ranks, in program order. No torch
// here.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

enum class ValueOperation { sum, max, min };

class CollectiveWorker {
 public:
  virtual ~CollectiveWorker() = default;
  // Meets the other ranks of the group; blocks.
  virtual void prepare() = 0;
  virtual const std::string& name() const = 0;
  // What reduce_bucket does, for traces: "all_reduce" or "reduce_scatter".
  virtual const char* reduction() const = 0;
  // Sums the bucket's gradients over the group, in place or from the unit they are scattered from. Returns this
  // rank's share of its sum of squares; 0 while further microbatches add to it.
  virtual double reduce_bucket(int bucket) = 0;
  virtual std::uint64_t bucket_bytes(int bucket) const = 0;
  virtual void reduce_values(std::vector<double>& values, ValueOperation operation) = 0;
};

}  // namespace d9d
