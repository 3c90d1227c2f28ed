#include "runtime/nn/attention/key_value_cache.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/token_cache.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// From this many new tokens of a sequence on, reading the keys in blocks is faster than once for each token.
constexpr std::int64_t many_tokens = 8;

bool has_many(const kernels::CacheStretch& stretch) {
  return stretch.count >= many_tokens;
}

at::Tensor room_for(const CacheSize& size, const at::Tensor& rows) {
  return at::empty(cached_rows(size, rows.size(2), rows.size(3)), rows.options().requires_grad(false));
}

KeyValueCache& as_key_values(BlockCache& cache) {
  auto* const found = dynamic_cast<KeyValueCache*>(&cache);
  D9D_CHECK(found != nullptr, "the cache of another block was given to attention");
  return *found;
}

}  // namespace

CachedAttention::CachedAttention(BlockCache& cache, const NewTokens& tokens)
    : cache_(as_key_values(cache)), tokens_(tokens) {}

// q [1, count, Hq, D] -> [1, count, Hq, Dv]
at::Tensor KeyValueCache::whole_stretch(const at::Tensor& q, const kernels::CacheStretch& stretch,
                                        const AttentionRule& rule) const {
  const auto seen = [&](const at::Tensor& cache) {
    return cache.select(0, stretch.sequence)
        .narrow(1, 0, stretch.past + stretch.count)
        .transpose(0, 1)
        .unsqueeze(0);
  };
  kernels::AttentionMask mask = mask_of(rule);
  mask.offset = stretch.past;
  const at::Tensor keys = seen(keys_);
  return kernels::attention(q, keys, seen(values_), mask, rule.scale, {}, rule.sinks,
                            bias_of(rule, q, keys, 0, stretch.past));
}

at::Tensor KeyValueCache::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const AttentionRule& rule, const NewTokens& tokens) {
  if (!keys_.defined()) {
    keys_ = room_for(size_, k);
    values_ = room_for(size_, v);
  }
  const auto& stretches = tokens.stretches;
  kernels::write_cache(k[0], keys_, stretches);
  kernels::write_cache(v[0], values_, stretches);
  const auto one_by_one = [&](const at::Tensor& rows, const kernels::CacheStretches& of) {
    return kernels::cached_attention(rows[0], keys_, values_, of, rule.window, rule.scale).unsqueeze(0);
  };
  // Attention of single tokens has no sinks and no biases.
  const auto in_blocks = [&](const kernels::CacheStretch& stretch) {
    return has_many(stretch) || ((rule.sinks.defined() || rule.bias) && stretch.count > 0);
  };
  if (std::none_of(stretches.begin(), stretches.end(), in_blocks)) return one_by_one(q, stretches);
  const at::Tensor out = at::zeros({1, q.size(1), q.size(2), v.size(3)}, q.options().requires_grad(false));
  std::int64_t first = 0;
  for (const kernels::CacheStretch& stretch : stretches) {
    const at::Tensor rows = q.narrow(1, first, stretch.count);
    out.narrow(1, first, stretch.count)
        .copy_(in_blocks(stretch) ? whole_stretch(rows, stretch, rule) : one_by_one(rows, {stretch}));
    first += stretch.count;
  }
  return out;
}

}  // namespace d9d
