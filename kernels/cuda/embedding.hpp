#pragma once
// Rows of a table by index, and the sums of gradients that come back.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// rows[i] = ids[i] - first if that is in [0, table_rows), else -1.
struct RowsOfIds {
  std::int64_t count = 0;
  const std::int64_t* ids = nullptr;
  std::int64_t first = 0, table_rows = 0;
  std::int64_t* rows = nullptr;
};
int rows_of_ids(const RowsOfIds& call, CUstream_st* stream);

// to[i] = table[rows[i]], zeros for -1.
struct Gather {
  ElementType type = ElementType::float32;
  std::int64_t count = 0;
  std::int64_t width = 0;
  const std::int64_t* rows = nullptr;
  ConstRows table;
  void* to = nullptr;  // [count, width], dense
};
int gather(const Gather& call, CUstream_st* stream);

// into[row] += the sum of grad[order[i]] for all i with sorted[i] == row, in their order, in fp32. Sums of 64 tokens
// each are added up, so that a row that many tokens have does not keep one thread busy alone. -1 is skipped.
struct SegmentSums {
  ElementType type = ElementType::float32;  // of grad
  ElementType into_type = ElementType::float32;
  std::int64_t count = 0;
  std::int64_t width = 0;
  const std::int64_t* sorted = nullptr;  // [count], ascending
  const std::int64_t* order = nullptr;   // [count]
  const void* grad = nullptr;            // [count, width], dense
  float* partial = nullptr;              // scratch [2, segment_chunks(count), width]
  void* into = nullptr;                  // [rows, width], dense
};
int segment_sums(const SegmentSums& call, CUstream_st* stream);
std::int64_t segment_chunks(std::int64_t count);

}  // namespace d9d::cuda
