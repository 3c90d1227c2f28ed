#pragma once
// Tells, while an action still runs, that gradients are complete, so that their reduction overlaps with the
// rest of the backward. Each of these calls the next:
//
//   ParameterWatch  autograd is through with a parameter
//   GradientObserver::gradient_complete   the rank's worker: does that complete a bucket?
//   BucketObserver::bucket_complete       the RankExecutor: says ReduceBucket
//
// Both are called inside StageCore::run(), on the thread that runs the action: the thread of lane 0 or that of
// lane 1 (compute_lanes.hpp). Never two at a time: only the lane that has the turn computes, and handing over
// the turn orders what both write.

#include <cstddef>

namespace d9d {

class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  // Once per step and trainable parameter (index into the stage's parameters), when its gradient has seen its
  // last addition of the step: during the step's last full backward as soon as it is complete, otherwise after
  // the step's last action. A parameter without a gradient is complete then, too. With
  // StageCoreOptions::each_microbatch also after each microbatch but the last one, with `last` false.
  virtual void gradient_complete(int stage, std::size_t parameter, bool last) = 0;
};

class BucketObserver {
 public:
  virtual ~BucketObserver() = default;
  // The bucket can be reduced now. Only of buckets with a reduce group, in the same order on all replicas.
  virtual void bucket_complete(int bucket) = 0;
};

}  // namespace d9d
