#pragma once
// What a job may choose about its parallel strategies beside the degrees (section `parallelism`). Pure
// values.

#include "runtime/nn/parallel/token_order.hpp"

namespace d9d {

// See ring_attention.hpp and ulysses.hpp.
enum class ContextAttention { ring, ulysses };

struct ContextOptions {
  ContextAttention attention = ContextAttention::ring;
  TokenOrder order = TokenOrder::zigzag;
};

struct ParallelOptions {
  ContextOptions context;
};

}  // namespace d9d
