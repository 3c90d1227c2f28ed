#pragma once
// Products of few fp32 rows with a stored weight, as in decoding: reading the weight is most of the work, so its
// rows are read where they are, and nothing is packed. No torch (see table.hpp).

#include <cstdint>

namespace d9d::kernels {

constexpr int64_t few_rows_max = 16;

// Rows `stride` elements apart.
struct FloatRows {
  const float* data;
  int64_t stride;
};

// c [m, n], rows `stride` apart, = a [m, k] b^T with b [n, k]; m at most few_rows_max; on the calling thread. An
// element does not depend on m and n. Needs Isa::avx512.
void few_rows_avx512(int64_t m, int64_t n, int64_t k, const FloatRows& a, const FloatRows& b, float* c,
                     int64_t stride);

}  // namespace d9d::kernels
