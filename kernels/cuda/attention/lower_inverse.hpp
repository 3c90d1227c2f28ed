#pragma once
// (1 - N)^-1 of strictly lower triangular matrices N, by forward substitution: what the chunks of the delta rule need.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

constexpr std::int64_t lower_inverse_rows_max = 96;  // a block keeps a matrix in shared memory

// n, inverse [count, rows, rows], dense.
struct LowerInverse {
  std::int64_t count = 0;
  int rows = 0;
  const float* n = nullptr;
  float* inverse = nullptr;
};
int lower_inverse(const LowerInverse& call, CUstream_st* stream);

}  // namespace d9d::cuda
