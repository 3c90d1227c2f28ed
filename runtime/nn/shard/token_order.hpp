#pragma once
// Context parallelism splits a sequence over ranks: which tokens each rank holds, and which of another rank's
// keys its queries attend to under a causal mask. Pure integers.

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
// The global positions of a rank's tokens, ascending, in the order in which it holds them. A length that is
// not divisible by length_unit() is a bug.
std::vector<TokenRange> tokens_of(TokenOrder order, int rank, int ranks, std::int64_t length);

// A rank holds `tokens` and shows `keys` of them, counted from its
// first: how many of these keys come before the global `position`.
std::int64_t keys_before(const std::vector<TokenRange>& tokens, const TokenRange& keys,
                         std::int64_t position);

// Queries of one rank against keys of another, each counted from that rank's first token; every query sees at
// least one key of the block.
struct VisibleBlock {
  TokenRange queries, keys;
  kernels::AttentionMask mask;
};
// The keys of `owner` that queries of `rank` attend to under a causal mask and with a window of so many
// keys (0 for none). Without one: a single rectangle in either order, nothing when all keys come later. Of
// a rank's own keys, the first blocks hold each query's own key. `count`: tokens per rank.
std::vector<VisibleBlock> visible_blocks(TokenOrder order, int rank, int owner, int ranks, std::int64_t count,
                                         std::int64_t window);

}  // namespace d9d
