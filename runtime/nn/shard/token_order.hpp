#pragma once
// How context parallelism splits a sequence over ranks: which tokens each rank holds, and to which keys of
// another rank its queries attend. Pure integers.

#include <cstdint>
#include <vector>

#include "kernels/attention/attention_mask.hpp"

namespace d9d {

enum class TokenOrder {
  // Rank r of n holds chunks r and 2n - 1 - r of 2n, so that all ranks have equal work (as in the
  // load-balanced layouts after Striped Attention, Brandon et al. 2023, arXiv 2311.09431).
  zigzag,
  contiguous,  // rank r holds block r of n: the last rank has the most work
};

struct TokenRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const TokenRange&) const = default;
};

// The length of a sequence must be divisible by this.
std::int64_t length_unit(TokenOrder order, int ranks);
// Returns the global positions of a rank's tokens, ascending, which is the order in which it holds them. It
// is a bug when length_unit() does not divide `length`.
std::vector<TokenRange> tokens_of(TokenOrder order, int rank, int ranks, std::int64_t length);

// Counts the keys that come before the global `position`. `tokens`: those that a rank holds; `keys`: the
// part of them that is looked at, counted from the rank's first token.
std::int64_t keys_before(const std::vector<TokenRange>& tokens, const TokenRange& keys,
                         std::int64_t position);

// Queries of one rank against keys of another, each counted from that rank's first token. Every query of the
// block sees at least one of its keys.
struct VisibleBlock {
  TokenRange queries, keys;
  kernels::AttentionMask mask;
};
// What a query sees of a whole sequence, as AttentionRule says it.
struct Reach {
  std::int64_t window = 0;
  bool causal = true;
};
// Returns the keys of `owner` to which queries of `rank` attend. Without a window it is one rectangle in either
// order, or nothing when no key is seen. When `rank` is the owner, the first blocks hold each query's
// own key. `count`: tokens per rank.
std::vector<VisibleBlock> visible_blocks(TokenOrder order, int rank, int owner, int ranks, std::int64_t count,
                                         const Reach& reach);

}  // namespace d9d
