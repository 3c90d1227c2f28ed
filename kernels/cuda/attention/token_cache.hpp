#pragma once
// Decoding with a cache. See kernels/attention/token_cache.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// New tokens of some sequences: tokens first .. first + count of a pass stand after `past` others of their sequence.
// They travel with the launch, because a copy of them to the device would be one more for each op of a decoded token.
struct CacheTokens {
  static constexpr int stretches_max = 64;
  struct Stretch {
    std::int64_t sequence = 0, past = 0, first = 0, count = 0;
  };

  int count = 0;            // of stretches
  std::int64_t tokens = 0;  // of all of them, from the first one's on
  Stretch stretches[stretches_max];
};

// rows [T, heads, dim] with dense heads into cache [N, heads, room, dim].
struct WriteCache {
  ElementType type = ElementType::float32;
  CacheTokens tokens;
  std::int64_t heads = 0, room = 0, dim = 0;
  ConstRows rows;
  void* cache = nullptr;
};
int write_cache(const WriteCache& call, CUstream_st* stream);

// q [T, query_heads, dim] with dense heads, keys [N, key_heads, room, dim], values [N, key_heads, room, value_dim] ->
// out [T, query_heads, value_dim], of which the rows of the tokens are written. Keys are read slab by slab, and with
// several slabs the second function joins what the first one makes of each.
struct CachedAttention {
  ElementType type = ElementType::float32;
  CacheTokens tokens;
  std::int64_t query_heads = 0, key_heads = 0, room = 0, dim = 0, value_dim = 0, window = 0;
  float scale = 1;
  ConstRows q;
  const void *keys = nullptr, *values = nullptr;
  void* out = nullptr;
  std::int64_t slabs = 1;    // cache_slabs() of these tokens
  float* partial = nullptr;  // [T of these tokens, query_heads, slabs, value_dim + 2] with several slabs
};
std::int64_t cache_slabs(const CacheTokens& tokens, std::int64_t window);
int cached_attention(const CachedAttention& call, CUstream_st* stream);

// All dense: q, k [T, key_heads, dk], v and out [T, value_heads, dv], decay and beta [T, value_heads],
// state [N, value_heads, dk, dv].
struct DeltaSteps {
  ElementType type = ElementType::float32;  // of q, k, v and out
  CacheTokens tokens;
  std::int64_t key_heads = 0, value_heads = 0, dk = 0, dv = 0;
  bool normalise = false;
  float scale = 1, eps = 0;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  const float *decay = nullptr, *beta = nullptr;
  float* state = nullptr;
  void* out = nullptr;
};
// Keys of so many elements fit beside their part of a state.
inline constexpr std::int64_t delta_key_dim_max = 1024;
int delta_rule_steps(const DeltaSteps& call, CUstream_st* stream);

}  // namespace d9d::cuda
