#pragma once
// What a job may choose about parallel strategies beside
// their degrees: the section `parallelism`. Pure values.

#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

// See ring_attention.hpp and ulysses.hpp.
enum class ContextAttention { ring, ulysses };

struct ContextOptions {
  ContextAttention attention = ContextAttention::ring;
  TokenOrder order = TokenOrder::zigzag;
};

// `default_`: always without a pipeline; never with one, because each microbatch would gather again.
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
