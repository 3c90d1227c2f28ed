#pragma once
// Observers that are called while an action still runs, when gradients are complete, so that their reduction
// overlaps with the rest of the backward. Each calls the next:
//
//   ParameterWatch                        autograd has finished with a parameter
//   GradientObserver::gradient_complete   the rank's worker finds out whether that completes a bucket
//   BucketObserver::bucket_complete       the RankExecutor says ReduceBucket
//
// Both are called inside StageCore::run(), on the thread that runs the action: lane 0's or lane 1's
// (compute_lanes.hpp). They are never called on both at once: only the lane that has the turn computes, and
// passing the turn makes the writes of one lane visible to the other.

#include <cstddef>

namespace d9d {

class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  // Called once per step and trainable parameter (index into the stage's parameters), when its gradient is
  // complete: during the step's last full backward as soon as possible, otherwise after the step's last
  // action. A parameter without a gradient is complete then, too. With StageCoreOptions::each_microbatch
  // also called after each microbatch but the last one, with `last` false.
  virtual void gradient_complete(int stage, std::size_t parameter, bool last) = 0;
};

class BucketObserver {
 public:
  virtual ~BucketObserver() = default;
  // Called when the bucket can be reduced. Only for buckets with a reduce group, in
  // the same order on all replicas.
  virtual void bucket_complete(int bucket) = 0;
};

}  // namespace d9d
