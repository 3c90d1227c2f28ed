#include "runtime/nn/shard/token_order.hpp"

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

std::optional<VisibleBlock> visible_block(TokenOrder order, int rank, int owner, std::int64_t count) {
  const TokenRange all{0, count};
  if (owner == rank) return VisibleBlock{all, all, true};
  if (order == TokenOrder::contiguous) {
    if (owner > rank) return std::nullopt;
    return VisibleBlock{all, all, false};
  }
  const std::int64_t half = count / 2;
  // An earlier rank's first chunk is before both of ours, its
  // second one after; a later rank's chunks are between ours.
  if (owner < rank) return VisibleBlock{all, {0, half}, false};
  return VisibleBlock{{half, half}, all, false};
}

}  // namespace d9d
