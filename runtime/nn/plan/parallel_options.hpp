#pragma once
// The section `parallelism` of a job: choices about parallel strategies other
// than their degrees. Pure values.

#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

// See ring_attention.hpp and ulysses.hpp.
enum class ContextAttention { ring, ulysses };

struct ContextOptions {
  ContextAttention attention = ContextAttention::ring;
  TokenOrder order = TokenOrder::zigzag;
};

// `default_` means `always` without a pipeline. With one it means `never`, because each
// microbatch would gather every unit again.
enum class ReshardAfterForward { default_, always, never };
enum class ReducePeriod { step, microbatch };

struct FullyShardOptions {
  ReshardAfterForward reshard_after_forward = ReshardAfterForward::default_;
  ReducePeriod reduce = ReducePeriod::step;
};

struct ParallelOptions {
  ContextOptions context;
  FullyShardOptions fully_shard;
  bool zero1 = false;
};

}  // namespace d9d
