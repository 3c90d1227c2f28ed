#include "kernels/cuda/column_sums.hpp"

#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 1024, columns = 32, parts = threads / columns;
struct PartialSums;

// A block sums 32 columns: each of its warps every 32nd row, then the warps in order.
template <class T>
__global__ void column_sums_kernel(ColumnSums call) {
  float* const sums = shared_array<float, threads, PartialSums>();
  const std::int64_t column = std::int64_t{blockIdx.x} * columns + threadIdx.x % columns;
  float sum = 0;
  if (column < call.width) {
    for (std::int64_t row = threadIdx.x / columns; row < call.rows; row += parts)
      sum += call.partial[row * call.width + column];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= columns || column >= call.width) return;
  for (int part = 1; part < parts; ++part) sum += sums[part * columns + threadIdx.x];
  T* const into = static_cast<T*>(call.into);
  store(into, column, call.add ? sum + load(into, column) : sum);
}

}  // namespace

int column_sums(const ColumnSums& call, CUstream_st* stream) {
  if (call.width == 0) return 0;
  const auto blocks = static_cast<unsigned>((call.width + columns - 1) / columns);
  return dispatch(call.type, [&](auto tag) {
    return launch(column_sums_kernel<decltype(tag)>, blocks, threads, 0, stream, call);
  });
}

}  // namespace d9d::cuda
