#pragma once
// How many tokens' logits linear cross entropy holds at once. No torch: `check` counts their memory by it.

#include <algorithm>
#include <cstdint>

namespace d9d::kernels {

// `vocabulary`: columns of the logits. On the CPU the logits of a block should stay in the second-level cache between
// the product, the softmax and the two products after it, but fewer than 64 rows would make these products slow. A GPU
// gets 2.5 GiB of logits in fp32: its products are fast only from some thousand rows on, and each block reads and
// writes the whole gradient of the vocabulary.
inline int64_t rows_at_once(bool on_gpu, int64_t vocabulary) {
  const int64_t per_row = std::max<int64_t>(1, vocabulary);
  if (on_gpu) return std::clamp<int64_t>((int64_t{5} << 27) / per_row / 128 * 128, 128, 8192);
  return std::clamp<int64_t>((int64_t{1} << 22) / per_row, 64, 512);
}

}  // namespace d9d::kernels
