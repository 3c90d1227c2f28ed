#pragma once
// From "this parameter's gradient is complete" to "reduce this bucket now", in an order that all ranks share:
// a bucket is asked for when it and every bucket before it with the same reduction are complete. Which
// parameter completes first may differ between ranks; what is asked for does not. A unit that reduces each
// microbatch has an order of its own: its ranks gather together and so run the same actions in one order.

#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

class GradientSync {
 public:
  // `parameters` outlives it.
  explicit GradientSync(const FlatParameters& parameters);

  // Nothing is complete.
  void begin_step();
  // The gradient of parameters()[parameter] saw its last addition of the step, or of a microbatch (`last`
  // false), which counts only for units that reduce each of them. The buckets to reduce now, ascending;
  // buckets without reduction are never among them. Twice in a step, or in a microbatch, is a bug.
  std::vector<int> complete(std::size_t parameter, bool last = true);
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

// Sums the bucket's gradients over the group, in place. Any thread, while nobody else uses the bucket.
void reduce_gradients(const GradientBucket& bucket, Communicator& communicator);

}  // namespace d9d
