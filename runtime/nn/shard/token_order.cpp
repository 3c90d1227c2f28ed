#include "runtime/nn/shard/token_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "runtime/base/error.hpp"

namespace d9d {

std::int64_t length_unit(TokenOrder order, int ranks) {
  return order == TokenOrder::zigzag && ranks > 1 ? 2 * ranks : ranks;
}

std::vector<TokenRange> tokens_of(TokenOrder order, int rank, int ranks, std::int64_t length) {
  const std::int64_t unit = length_unit(order, ranks);
  D9D_CHECK(length % unit == 0, "{} tokens are not divisible by {}", length, unit);
  const std::int64_t chunk = length / unit;
  if (unit == ranks) return {{rank * chunk, chunk}};
  return {{rank * chunk, chunk}, {(unit - 1 - rank) * chunk, chunk}};
}

std::int64_t keys_before(const std::vector<TokenRange>& tokens, const TokenRange& keys,
                         std::int64_t position) {
  std::int64_t before = 0;
  for (const TokenRange& range : tokens)
    before += std::clamp<std::int64_t>(position - range.first, 0, range.count);
  return std::clamp<std::int64_t>(before - keys.first, 0, keys.count);
}

namespace {

std::optional<VisibleBlock> visible_block(TokenOrder order, int rank, int owner, std::int64_t count) {
  const TokenRange all{0, count};
  if (owner == rank) return VisibleBlock{all, all, kernels::causal_mask};
  if (order == TokenOrder::contiguous) {
    if (owner > rank) return std::nullopt;
    return VisibleBlock{all, all, kernels::full_mask};
  }
  const std::int64_t half = count / 2;
  // The first chunk of an earlier rank comes before both of ours, its second one after them. Both chunks of
  // a later rank come between ours.
  if (owner < rank) return VisibleBlock{all, {0, half}, kernels::full_mask};
  return VisibleBlock{{half, half}, all, kernels::full_mask};
}

// The visible part of one chunk of keys that comes `distance` positions before one chunk of queries.
std::optional<VisibleBlock> chunk_block(const TokenRange& queries, const TokenRange& keys,
                                        std::int64_t distance, std::int64_t window) {
  const std::int64_t count = queries.count;
  if (distance < 0 || distance - (count - 1) >= window) return std::nullopt;
  if (distance == 0) return VisibleBlock{queries, keys, {window - 1, 0, 0}};
  // The window of query i begins at key i + distance - (window - 1).
  const std::int64_t first = std::max<std::int64_t>(0, distance - (window - 1));
  const std::int64_t reaching = std::min(count, count - 1 - distance + window);
  VisibleBlock block{{queries.first, reaching}, {keys.first + first, count - first}, kernels::full_mask};
  const bool whole = reaching - 1 + distance < window;
  if (!whole) block.mask = {window - 1, kernels::AttentionMask::unlimited, distance - first};
  return block;
}

// The same where queries see `window` keys on each side of their own; keys that come after have a negative
// distance. Query i sees keys from i + distance - window to i + distance + window.
std::optional<VisibleBlock> chunk_block_both_ways(const TokenRange& queries, const TokenRange& keys,
                                                  std::int64_t distance, std::int64_t window) {
  const std::int64_t count = queries.count, apart = std::abs(distance);
  if (apart - (count - 1) > window) return std::nullopt;
  const auto seen = [&](const TokenRange& all, std::int64_t to) {
    const std::int64_t first = std::max<std::int64_t>(0, to - window);
    return TokenRange{all.first + first, std::min(count, count + to + window) - first};
  };
  VisibleBlock block{seen(queries, -distance), seen(keys, distance), kernels::full_mask};
  const std::int64_t offset =
      distance + (block.queries.first - queries.first) - (block.keys.first - keys.first);
  if (apart + count - 1 > window) block.mask = {window, window, offset};
  return block;
}

}  // namespace

std::vector<VisibleBlock> visible_blocks(TokenOrder order, int rank, int owner, int ranks, std::int64_t count,
                                         const Reach& reach) {
  const std::int64_t window = reach.window;
  std::vector<VisibleBlock> blocks;
  const auto add = [&](const std::optional<VisibleBlock>& block, bool first) {
    if (block) blocks.insert(first ? blocks.begin() : blocks.end(), *block);
  };
  if (window == 0 || window >= count * ranks) {
    const TokenRange all{0, count};
    add(reach.causal ? visible_block(order, rank, owner, count) : VisibleBlock{all, all, kernels::full_mask},
        true);
    return blocks;
  }
  const auto block_of = reach.causal ? chunk_block : chunk_block_both_ways;
  const auto ours = tokens_of(order, rank, ranks, count * ranks);
  const auto theirs = tokens_of(order, owner, ranks, count * ranks);
  const std::int64_t chunk = ours.front().count;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    for (std::size_t j = 0; j < theirs.size(); ++j) {
      const TokenRange queries{static_cast<std::int64_t>(i) * chunk, chunk};
      const TokenRange keys{static_cast<std::int64_t>(j) * chunk, chunk};
      const std::int64_t distance = ours[i].first - theirs[j].first;
      add(block_of(queries, keys, distance, window), distance == 0);
    }
  }
  return blocks;
}

}  // namespace d9d
