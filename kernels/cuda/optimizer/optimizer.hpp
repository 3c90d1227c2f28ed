#pragma once
// AdamW in one pass, and sums of squares.

#include "kernels/cuda/launch.hpp"
#include "kernels/optimizer/adamw_pass.hpp"

namespace d9d::cuda {

// One update of four flat buffers of `count` elements, fastest where all are aligned to 16 bytes alike. See kernels/.
struct AdamW {
  std::int64_t count = 0;
  float* param = nullptr;
  float* grad = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  kernels::AdamWPass pass = {};
};
int adamw(const AdamW& call, CUstream_st* stream);

// total = the sum of the squares of x [count]: fp32 within blocks of fixed size, fp64 between them, in one order.
struct SumOfSquares {
  ElementType type = ElementType::float32;
  std::int64_t count = 0;
  const void* x = nullptr;
  double* partial = nullptr;  // scratch [sum_of_squares_partials(count)]
  double* total = nullptr;    // [1], on the device
};
int sum_of_squares(const SumOfSquares& call, CUstream_st* stream);
std::int64_t sum_of_squares_partials(std::int64_t count);

}  // namespace d9d::cuda
