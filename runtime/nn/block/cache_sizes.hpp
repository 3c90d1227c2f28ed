#pragma once
// The sizes of the tensors in which blocks keep earlier tokens (attention/block_cache.hpp). Caches allocate by them,
// and counts of memory add them up (block_costs.hpp), so that both say the same. No torch.

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>

namespace d9d {

// Sequences have numbers 0 .. sequences - 1. Each has room for `tokens` tokens.
struct CacheSize {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
};

using CacheShape = std::array<std::int64_t, 4>;

// The keys of attention, or its values: of `heads` heads of width `dim`.
inline CacheShape cached_rows(const CacheSize& size, std::int64_t heads, std::int64_t dim) {
  return {size.sequences, heads, size.tokens, dim};
}
// The last inputs of a convolution that reads `taps` tokens.
inline CacheShape cached_inputs(const CacheSize& size, std::int64_t taps, std::int64_t heads,
                                std::int64_t dim) {
  return {size.sequences, taps - 1, heads, dim};
}
// The states of a delta rule, which are float32.
inline CacheShape cached_states(const CacheSize& size, std::int64_t heads, std::int64_t key_dim,
                                std::int64_t value_dim) {
  return {size.sequences, heads, key_dim, value_dim};
}

inline std::int64_t elements_of(const CacheShape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace d9d
