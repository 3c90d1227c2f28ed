#pragma once
// Which keys each query of an attention sees. No torch. The functions are static, so that each file has
// its own copy: a copy compiled for AVX-512 must not be linked into files for other machines.

#include <cstdint>
#include <limits>

namespace d9d::kernels {

// Query i has the position of key i + offset. It sees the keys from `before` positions before its own to
// `after` positions after it. A sliding window of w keys is {before w - 1, after 0}.
struct AttentionMask {
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  int64_t before = unlimited;
  int64_t after = unlimited;
  int64_t offset = 0;

  bool operator==(const AttentionMask&) const = default;
};

inline constexpr AttentionMask full_mask{};
inline constexpr AttentionMask causal_mask{AttentionMask::unlimited, 0, 0};

// Query i sees the keys [first_key(), end_of_keys()) of `keys`.
static inline int64_t first_key(const AttentionMask& mask, int64_t i) {
  if (mask.before == AttentionMask::unlimited) return 0;
  const int64_t first = i + mask.offset - mask.before;
  return first > 0 ? first : 0;
}
static inline int64_t end_of_keys(const AttentionMask& mask, int64_t i, int64_t keys) {
  if (mask.after == AttentionMask::unlimited) return keys;
  const int64_t end = i + mask.offset + mask.after + 1;
  return end < keys ? end : keys;
}

}  // namespace d9d::kernels
