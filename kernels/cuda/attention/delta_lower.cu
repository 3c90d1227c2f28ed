// Forward: a block works on a matrix, a thread on a column. Row i of the inverse is that of N times the rows above, and
// 1. Backward: a block works on the matrices of a key head, a warp on a row, a lane on every 32nd number of it.
#include "kernels/cuda/attention/delta_lower.hpp"

#include "kernels/cuda/attention/delta_place.cuh"

namespace d9d::cuda {
namespace {

__global__ void __launch_bounds__(delta_tokens_max) delta_lower_kernel(DeltaLower call) {
  const int rows = call.shape.tokens, column = static_cast<int>(threadIdx.x);
  float* const above = static_cast<float*>(dynamic_shared());  // the inverse, [rows, rows]
  float* const factors = above + rows * rows;                  // row i of N
  const std::int64_t head = blockIdx.x, numbers = head * rows;
  const std::int64_t matrix = numbers * rows, of_key_head = head / call.shape.group * rows * rows;
  const float sum = column < rows ? call.sums[numbers + column] : 0.0F;
  for (int i = 0; i < rows; ++i) {
    const std::int64_t at = i * rows + column;
    if (column < rows) {
      // Above the diagonal the exponent is positive and may be too large.
      const float decay = column <= i ? expf(call.sums[numbers + i] - sum) : 0.0F;
      if (column < i) factors[column] = -call.betas[numbers + i] * call.products[of_key_head + at] * decay;
      call.p[matrix + at] = column <= i ? call.scores[of_key_head + at] * decay : 0.0F;
    }
    __syncthreads();
    if (column < rows) {
      float total = column == i ? 1.0F : 0.0F;
      for (int j = column; j < i; ++j) total += factors[j] * above[j * rows + column];
      above[i * rows + column] = total;
      call.inverse[matrix + at] = total;
    }
    __syncthreads();  // `factors` is the next row's
  }
}

// A row of a value head's matrices. Notes in `shares` [n, n + 1] what its numbers add to the gradients of G_i - G_j.
__device__ inline void row_backward(const DeltaLowerBackward& call, std::int64_t head, int i, bool first,
                                    float* shares) {
  const int n = call.shape.tokens, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t numbers = head * n, row = (numbers + i) * n;
  const std::int64_t of_key_head = (head / call.shape.group * n + i) * n;
  const float sum = call.sums[numbers + i], beta = call.betas[numbers + i];
  float by_n = 0, by_p = 0;
  for (int j = lane; j < n; j += 32) {
    const float decay = j <= i ? expf(sum - call.sums[numbers + j]) : 0.0F;
    const float dn = j < i ? call.dn[row + j] * decay : 0.0F, dp = j <= i ? call.dp[row + j] * decay : 0.0F;
    const float of_n = -dn * call.products[of_key_head + j], of_p = dp * call.scores[of_key_head + j];
    by_n += of_n;
    by_p += j < i ? of_p : 0.0F;  // D is 1 on the diagonal
    shares[i * (n + 1) + j] = j < i ? beta * of_n + of_p : 0.0F;
    float *const dscore = call.dscores + of_key_head + j, *const dproduct = call.dproducts + of_key_head + j;
    *dscore = first ? dp : *dscore + dp;
    *dproduct = first ? -beta * dn : *dproduct - beta * dn;
  }
  by_n = over_lanes<Added>(by_n);
  by_p = over_lanes<Added>(by_p);
  if (lane == 0) {
    call.dbetas[numbers + i] = by_n;
    call.dsums[numbers + i] = beta * by_n + by_p;
  }
}

__global__ void __launch_bounds__(delta_threads) delta_lower_backward_kernel(DeltaLowerBackward call) {
  const int n = call.shape.tokens, warp = static_cast<int>(threadIdx.x) / 32,
            lane = static_cast<int>(threadIdx.x) % 32;
  float* const shares = static_cast<float*>(dynamic_shared());  // [n, n + 1]
  const std::int64_t matrix = blockIdx.x;
  for (int member = 0; member < call.shape.group; ++member) {
    const std::int64_t head = matrix * call.shape.group + member;
    for (int i = warp; i < n; i += delta_warps) row_backward(call, head, i, member == 0, shares);
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < n; j += delta_threads) {
      float sum = 0;
      for (int i = j + 1; i < n; ++i) sum += shares[i * (n + 1) + j];
      call.dsums[head * n + j] -= sum;
    }
    __syncthreads();  // `shares` are the next head's
  }
  float* const dproducts = call.dproducts + matrix * n * n;
  for (int i = warp; i < n; i += delta_warps)
    for (int j = lane; j < n; j += 32) shares[i * (n + 1) + j] = dproducts[i * n + j];
  __syncthreads();
  for (int i = warp; i < n; i += delta_warps)
    for (int j = lane; j < n; j += 32)
      dproducts[i * n + j] = shares[i * (n + 1) + j] + shares[j * (n + 1) + i];
}

}  // namespace

int delta_lower(const DeltaLower& call, CUstream_st* stream) {
  const int n = call.shape.tokens;
  if (call.shape.value_matrices() == 0) return 0;
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(n * (n + 1));
  return launch(delta_lower_kernel, static_cast<unsigned>(call.shape.value_matrices()), delta_tokens_max,
                bytes, stream, call);
}

int delta_lower_backward(const DeltaLowerBackward& call, CUstream_st* stream) {
  const int n = call.shape.tokens;
  if (call.shape.key_matrices() == 0) return 0;
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(n * (n + 1));
  return launch(delta_lower_backward_kernel, static_cast<unsigned>(call.shape.key_matrices()), delta_threads,
                bytes, stream, call);
}

}  // namespace d9d::cuda
