#pragma once
// The second half of a sum over rows: its partial sums, which blocks left in rows of their own.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// into [width] = the sum of the rows of partial [rows, width] + beta into,
// in an order that depends on rows only. beta is 0 or 1.
struct ColumnSums {
  ElementType type = ElementType::float32;  // of into
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* partial = nullptr;
  void* into = nullptr;
  bool add = false;  // beta is 1
};
int column_sums(const ColumnSums& call, CUstream_st* stream);

// Rows that one block sums up, so that there are at most 512 partial sums.
constexpr std::int64_t slab_of(std::int64_t rows, std::int64_t least) {
  const std::int64_t slab = (rows + 511) / 512;
  return slab < least ? least : slab;
}

}  // namespace d9d::cuda
