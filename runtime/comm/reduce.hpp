#pragma once
// The arithmetic of reductions: elementwise over the blocks of several ranks, paired in rank order.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <span>

#include "runtime/comm/communicator.hpp"

namespace d9d::comm {

// targets[t][i] = ((s0 op s1) op (s2 op s3)) op ... with s = sources[.][i], for i < count and every t:
// neighbours are paired, then pairs, so that the sum of 2^k aligned neighbours is a step on the way. A target
// may be one of the sources. fp16 and bf16 are accumulated in fp32 and rounded once; a NaN in any source is
// kept by max and min. Types: float, double, bfloat16, half, int32, int64; any other is a bug.
void reduce(c10::ScalarType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count);

// Of `count` elements, those that part `part` of `parts` works
// on: [begin, end), near-even, cut at whole cache lines.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};
Range part_of(std::int64_t count, int parts, int part);

}  // namespace d9d::comm
