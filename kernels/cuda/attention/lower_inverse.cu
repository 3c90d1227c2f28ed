// A block works on a matrix, a thread on a column. Row i of the inverse is that of N times the rows above, and 1.
#include "kernels/cuda/attention/lower_inverse.hpp"

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = lower_inverse_rows_max;

__global__ void __launch_bounds__(threads) lower_inverse_kernel(LowerInverse call) {
  const int rows = call.rows, column = static_cast<int>(threadIdx.x);
  float* const above = static_cast<float*>(dynamic_shared());  // the inverse, [rows, rows]
  float* const factors = above + rows * rows;                  // row i of N
  const std::int64_t matrix = std::int64_t{blockIdx.x} * rows * rows;
  for (int i = 0; i < rows; ++i) {
    if (column < i) factors[column] = call.n[matrix + i * rows + column];
    __syncthreads();
    if (column < rows) {
      float sum = column == i ? 1.0F : 0.0F;
      for (int j = column; j < i; ++j) sum += factors[j] * above[j * rows + column];
      above[i * rows + column] = sum;
      call.inverse[matrix + i * rows + column] = sum;
    }
    __syncthreads();  // `factors` is the next row's
  }
}

}  // namespace

int lower_inverse(const LowerInverse& call, CUstream_st* stream) {
  if (call.count == 0 || call.rows == 0) return 0;
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(call.rows * (call.rows + 1));
  return launch(lower_inverse_kernel, static_cast<unsigned>(call.count), threads, bytes, stream, call);
}

}  // namespace d9d::cuda
