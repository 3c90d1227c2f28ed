#pragma once
// Decides when to reduce which gradient bucket. A bucket is reduced when it and all buckets before it with
// the same reduction are complete. So the order of reductions is the same on all ranks, although parameters
// may complete in different orders. A unit that reduces each microbatch has an order of its own: its ranks
// gather at the same points, and therefore run the same actions in the same order anyway.

#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

class GradientSync {
 public:
  // Keeps a reference to `parameters`.
  explicit GradientSync(const FlatParameters& parameters);

  // Marks all gradients as incomplete.
  void begin_step();
  // Call it when the gradient of parameters()[parameter] is complete for the step (`last`) or, for units
  // that reduce each microbatch, for the microbatch. Returns the buckets to reduce now, ascending, without
  // those that need no reduction. It is a bug to call it twice for a parameter in one step (or microbatch).
  std::vector<int> mark_complete(std::size_t parameter, bool last = true);
  // The number of parameters that are not complete yet.
  int pending() const { return pending_; }
  // Names of up to `most` parameters that are not complete, for an error.
  std::vector<std::string> incomplete(std::size_t most) const;

 private:
  std::vector<int> take_ready(std::size_t group);
  void begin_round(const GradientBucket& bucket);

  const FlatParameters& parameters_;
  std::vector<int> group_of_;            // of each bucket; -1: no reduction
  std::vector<std::vector<int>> order_;  // buckets of each group
  std::vector<std::size_t> asked_;       // of each group: how many of its buckets were asked for
  std::vector<int> left_;                // of each bucket: parameters not complete
  std::vector<bool> complete_;           // of each parameter
  int pending_ = 0;
};

// Sums the bucket's gradients over the group, in place. Call it on any thread while
// no other thread uses the bucket.
void reduce_gradients(const GradientBucket& bucket, Communicator& communicator);

}  // namespace d9d
