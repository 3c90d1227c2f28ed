// RMSNorm (Zhang and Sennrich 2019, eq. 4), forward and backward. One block works on a row at a time; the
// weight gradient is summed in two passes, so that its order does not depend on scheduling.
#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
constexpr std::int64_t rows_per_partial = 64;

template <class T>
__global__ void forward_kernel(RmsNormForward call) {
  const T* weight = static_cast<const T*>(call.weight);
  for (std::int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const T* x = row_of<T>(call.x, row);
    const T* residual = row_of<T>(call.residual, row);
    T* sum = call.sum ? static_cast<T*>(call.sum) + row * call.width : nullptr;
    T* y = static_cast<T*>(call.y) + row * call.width;
    float squares = 0;
    for (std::int64_t i = threadIdx.x; i < call.width; i += threads) {
      float value = load(x, i);
      if (residual) {
        value = rounded<T>(value + load(residual, i));
        store(sum, i, value);
      }
      squares += value * value;
    }
    const float inverse = rsqrtf(block_sum<threads>(squares) / static_cast<float>(call.width) + call.eps);
    // Each thread reads back what it wrote itself.
    const T* normed = residual ? sum : x;
    for (std::int64_t i = threadIdx.x; i < call.width; i += threads) {
      store(y, i, load(normed, i) * inverse * (load(weight, i) + call.offset));
    }
    if (threadIdx.x == 0) call.inverse[row] = inverse;
  }
}

template <class T>
__global__ void dx_kernel(RmsNormBackward call) {
  const T* weight = static_cast<const T*>(call.weight);
  for (std::int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const T* dy = row_of<T>(call.dy, row);
    const T* x = row_of<T>(call.x, row);
    const T* extra = row_of<T>(call.extra, row);
    T* dx = static_cast<T*>(call.dx) + row * call.width;
    float dot = 0;
    for (std::int64_t i = threadIdx.x; i < call.width; i += threads) {
      dot += load(dy, i) * (load(weight, i) + call.offset) * load(x, i);
    }
    const float inverse = call.inverse[row];
    const float along_x =
        block_sum<threads>(dot) / static_cast<float>(call.width) * inverse * inverse * inverse;
    for (std::int64_t i = threadIdx.x; i < call.width; i += threads) {
      const float g = load(dy, i) * (load(weight, i) + call.offset);
      store(dx, i, g * inverse - load(x, i) * along_x + (extra ? load(extra, i) : 0.0F));
    }
  }
}

// Block (column tile, slab of rows): one partial sum per column.
template <class T>
__global__ void dw_partial_kernel(RmsNormBackward call) {
  const std::int64_t column = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (column >= call.width) return;
  const std::int64_t slabs = (call.rows + rows_per_partial - 1) / rows_per_partial;
  for (std::int64_t slab = blockIdx.y; slab < slabs; slab += gridDim.y) {
    const std::int64_t begin = slab * rows_per_partial;
    const std::int64_t end = min(begin + rows_per_partial, call.rows);
    float sum = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      sum += load(row_of<T>(call.dy, row), column) * load(row_of<T>(call.x, row), column) * call.inverse[row];
    }
    call.partial[slab * call.width + column] = sum;
  }
}

__global__ void dw_sum_kernel(const float* partial, std::int64_t slabs, std::int64_t width, float* dw) {
  const std::int64_t column = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (column >= width) return;
  float sum = 0;
  for (std::int64_t slab = 0; slab < slabs; ++slab) sum += partial[slab * width + column];
  dw[column] = sum;
}

unsigned blocks_for(std::int64_t rows) {
  return static_cast<unsigned>(rows < blocks_max ? rows : blocks_max);
}

template <class T>
void weight_gradient(const RmsNormBackward& call, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((call.width + threads - 1) / threads);
  const std::int64_t slabs = rms_norm_partials(call.rows);
  const dim3 grid(tiles, static_cast<unsigned>(slabs < 65535 ? slabs : 65535));
  if (slabs > 0) dw_partial_kernel<T><<<grid, threads, 0, stream>>>(call);
  dw_sum_kernel<<<tiles, threads, 0, stream>>>(call.partial, slabs, call.width, call.dw);
}

}  // namespace

std::int64_t rms_norm_partials(std::int64_t rows) {
  return (rows + rows_per_partial - 1) / rows_per_partial;
}

int rms_norm_forward(const RmsNormForward& call, CUstream_st* stream) {
  if (call.rows == 0 || call.width == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    forward_kernel<decltype(tag)><<<blocks_for(call.rows), threads, 0, stream>>>(call);
    return static_cast<int>(cudaGetLastError());
  });
}

int rms_norm_backward(const RmsNormBackward& call, CUstream_st* stream) {
  if (call.width == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    if (call.dx && call.rows > 0) dx_kernel<T><<<blocks_for(call.rows), threads, 0, stream>>>(call);
    if (call.dw) weight_gradient<T>(call, stream);
    return static_cast<int>(cudaGetLastError());
  });
}

}  // namespace d9d::cuda
