#pragma once
// What a job may choose about its parallel strategies beside the degrees (section `parallelism`). Pure
// values.

namespace d9d {

// `by_default`: always without pipeline, never with one, where each microbatch would gather again.
enum class ReshardAfterForward { by_default, always, never };
enum class ReducePeriod { step, microbatch };

struct FullyShardOptions {
  ReshardAfterForward reshard_after_forward = ReshardAfterForward::by_default;
  ReducePeriod reduce = ReducePeriod::step;
};

struct ParallelOptions {
  FullyShardOptions fully_shard;
  bool zero1 = false;
};

}  // namespace d9d
