#pragma once
// Decides when to reduce which gradient bucket, in an order that is the same on all ranks: a bucket is
// reduced when it and all buckets before it with the same reduction are complete. The order in which
// parameters complete may differ between ranks; the order of reductions does not. A unit that reduces each
// microbatch has a separate order: its ranks gather together and therefore run the same actions in one order.

#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

class GradientSync {
 public:
  // Keeps a reference to `parameters`.
  explicit GradientSync(const FlatParameters& parameters);

  // Nothing is complete.
  void begin_step();
  // Call it when the gradient of parameters()[parameter] is complete for the step (`last`) or, for units that
  // reduce each microbatch, for the microbatch. Returns the buckets to reduce now, ascending, without those
  // that need no reduction. Twice for the same parameter in a step (or microbatch) is a bug.
  std::vector<int> mark_complete(std::size_t parameter, bool last = true);
  // Parameters that are not complete yet.
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

// Sums the bucket's gradients over the group, in place. From any thread, if no other thread uses the bucket.
void reduce_gradients(const GradientBucket& bucket, Communicator& communicator);

}  // namespace d9d
