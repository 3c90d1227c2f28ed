#pragma once
// Which tokens of a sequence each of the ranks holds that share it, and what their queries see of each
// other's keys under a causal mask. Pure integers.

#include <cstdint>
#include <optional>
#include <vector>

namespace d9d {

enum class TokenOrder {
  // Rank r of n has chunks r and 2n - 1 - r of 2n: every rank's queries see equally many keys (as the
  // load-balanced layouts after Striped Attention, Brandon et al. 2023, arXiv 2311.09431).
  zigzag,
  contiguous,  // rank r has block r of n: the last rank's queries see most
};

struct TokenRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const TokenRange&) const = default;
};

// A sequence's length must be divisible by this.
std::int64_t length_unit(TokenOrder order, int ranks);
// Global positions of a rank's tokens, ascending, as it holds them one after another. A length that the unit
// does not divide is a bug.
std::vector<TokenRange> tokens_of(TokenOrder order, int rank, int ranks, std::int64_t length);

// Of the tokens two ranks hold, counted from the first of each: all these queries see all these keys, or
// (causal: one's own) query i sees keys 0 .. i.
struct VisibleBlock {
  TokenRange queries, keys;
  bool causal = false;
};
// What queries of `rank` see of the keys of `owner`: a rectangle in either order, nothing where all keys come
// later. `count`: tokens of each rank.
std::optional<VisibleBlock> visible_block(TokenOrder order, int rank, int owner, std::int64_t count);

}  // namespace d9d
