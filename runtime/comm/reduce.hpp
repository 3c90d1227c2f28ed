#pragma once
// The arithmetic of reductions: elementwise over the blocks of several ranks, in pairs of neighbours.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <span>

#include "runtime/comm/communicator.hpp"

namespace d9d::comm {

// targets[t][i] = ((s0 op s1) op (s2 op s3)) op ... with sr = sources[r][i], for i < count and every t.
// Combines neighbours, then pairs. The partial result of 2^k aligned neighbours is therefore the same whether
// they are reduced here or alone before (one node of several). A target may be one of the sources.
// Accumulates fp16 and bf16 in fp32 and rounds once. max and min keep a NaN of any source.
// Types: float, double, bfloat16, half, int32, int64; any other is a bug error.
void reduce(c10::ScalarType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count);

// The elements [begin, end) of `count` that part `part` of `parts` works on. Parts are nearly even and
// begin at whole cache lines.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};
Range part_of(std::int64_t count, int parts, int part);

}  // namespace d9d::comm
