#include "runtime/nn/plan/ulysses.hpp"

#include <ATen/ops/cat.h>

#include <numeric>

#include "kernels/attention/attention.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/nn/plan/widened_heads.hpp"

namespace d9d {
namespace {

constexpr std::int64_t tokens_dim = 1, heads_dim = 2;

// The n-th entry is the chunk of the sequence that comes n-th when the tokens of
// rank 0, 1, ... are concatenated.
std::vector<std::int64_t> chunks_as_dealt(TokenOrder order, int ranks) {
  std::vector<std::int64_t> chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const TokenRange& range : tokens_of(order, rank, ranks, length_unit(order, ranks))) {
      chunks.push_back(range.first);
    }
  }
  return chunks;
}

// Chunk i of the result is chunk from[i] of x [B, S, ..].
at::Tensor arrange(const at::Tensor& x, const std::vector<std::int64_t>& from) {
  const std::vector<at::Tensor> chunks = x.chunk(static_cast<std::int64_t>(from.size()), tokens_dim);
  std::vector<at::Tensor> arranged;
  for (const std::int64_t chunk : from) arranged.push_back(chunks[static_cast<std::size_t>(chunk)]);
  return at::cat(arranged, tokens_dim);
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return back;
}

// Each head `times` times, side by side.
at::Tensor repeat_heads(const at::Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  return x.unsqueeze(3).expand({-1, -1, -1, times, -1}).flatten(2, 3);
}

}  // namespace

at::Tensor UlyssesAttention::to_heads(const at::Tensor& x) const {
  const at::Tensor dealt = swap_shards(x, heads_dim, tokens_dim, group_);
  if (order_ == TokenOrder::contiguous) return dealt;
  return arrange(dealt, inverse(chunks_as_dealt(order_, group_->size())));
}

at::Tensor UlyssesAttention::to_tokens(const at::Tensor& x) const {
  const bool in_order = order_ == TokenOrder::contiguous;
  const at::Tensor dealt = in_order ? x : arrange(x, chunks_as_dealt(order_, group_->size()));
  return swap_shards(dealt, tokens_dim, heads_dim, group_);
}

at::Tensor UlyssesAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const AttentionRule& rule) const {
  // Heads of queries, keys and values travel in one exchange, so they have to be equally wide.
  if (k.size(3) != v.size(3)) {
    const auto equally_wide = [&](const at::Tensor& wide_q, const at::Tensor& wide_k,
                                  const at::Tensor& wide_v) { return attend(wide_q, wide_k, wide_v, rule); };
    return attend_equally_wide(q, k, v, equally_wide);
  }
  const std::int64_t ranks = group_->size(), key_heads = k.size(heads_dim);
  D9D_CHECK(q.size(heads_dim) % ranks == 0, "{} heads are not divisible by the {} ranks of {}",
            q.size(heads_dim), ranks, group_->name());
  const std::int64_t times = std::lcm(key_heads, ranks) / key_heads;
  // Puts the queries, keys and values for one rank side by side, so that one exchange carries them all.
  const auto by_rank = [&](const at::Tensor& x) { return x.unflatten(heads_dim, {ranks, -1}); };
  const at::Tensor joint =
      at::cat({by_rank(q), by_rank(repeat_heads(k, times)), by_rank(repeat_heads(v, times))}, heads_dim + 1);
  const std::int64_t queries = q.size(heads_dim) / ranks, keys = key_heads * times / ranks;
  const auto heads =
      to_heads(joint.flatten(heads_dim, heads_dim + 1)).split_with_sizes({queries, keys, keys}, heads_dim);
  const at::Tensor sinks =
      rule.sinks.defined() ? rule.sinks.narrow(0, group_->rank() * queries, queries) : at::Tensor();
  const at::Tensor mixed =
      kernels::attention(heads[0], heads[1], heads[2], mask_of(rule), rule.scale, visible_keys(rule), sinks,
                         bias_of(rule, heads[0], heads[1], group_->rank() * queries));
  return to_tokens(mixed);
}

}  // namespace d9d
