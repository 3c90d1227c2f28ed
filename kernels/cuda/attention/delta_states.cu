// A block goes through all chunks with some columns of a head's state, which stay in its shared memory. Columns do not
// need each other. Each product is a block of rows at a time: a thread sums eight of them for one column, over tiles of
// the left matrix that come through shared memory; the next tile is on its way while a thread multiplies.
#include "kernels/cuda/attention/delta_states.hpp"

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256, rows_of_thread = 8;
constexpr int tile_bits = 11;  // of its 2048 numbers each thread brings as many as it has sums
static_assert(1 << tile_bits == threads * rows_of_thread);
constexpr int pad = 4;  // of a tile's row, so that it is still read 16 bytes at a time
constexpr int least_column_bits = 3, most_column_bits = 5;  // rows of a tile are at most the threads
constexpr int shared_numbers = 48 * 1024 / 4;

// Rows are a column's threads times eight; `inner` of their numbers are in a tile. All are powers of two.
struct Tile {
  int column_bits = 0;
  __host__ __device__ int columns() const { return 1 << column_bits; }
  __host__ __device__ int row_bits() const { return tile_bits - inner_bits(); }
  __host__ __device__ int inner_bits() const { return column_bits; }
  __host__ __device__ int rows() const { return 1 << row_bits(); }
  __host__ __device__ int inner() const { return 1 << inner_bits(); }
  __host__ __device__ int numbers() const { return inner() * (rows() + pad); }
};

// A multiple of 16 bytes.
__device__ inline int whole_packs(int numbers) {
  return (numbers + 3) / 4 * 4;
}

// A matrix [rows, inner], or, transposed, one that lies there as [inner, rows].
struct Left {
  const float* data = nullptr;
  std::int64_t stride = 0;
  int rows = 0, inner = 0;
};

// Which numbers of a tile a thread brings: from (row, inner) on, in steps along the one or the other.
template <bool transposed>
struct Share {
  int row, inner, row_step, inner_step;
  __device__ explicit Share(Tile tile) {
    const int thread = static_cast<int>(threadIdx.x);
    row = transposed ? thread & (tile.rows() - 1) : thread >> tile.inner_bits();
    inner = transposed ? thread >> tile.row_bits() : thread & (tile.inner() - 1);
    row_step = transposed ? 0 : threads >> tile.inner_bits();
    inner_step = transposed ? threads >> tile.row_bits() : 0;
  }
};

template <bool transposed>
__device__ inline void bring(const Left& left, Tile tile, int row, int inner,
                             float (&numbers)[rows_of_thread]) {
  const Share<transposed> share(tile);
  int r = row + share.row, k = inner + share.inner;
  const float* from = left.data + (transposed ? k * left.stride + r : r * left.stride + k);
  const std::int64_t step = (transposed ? share.inner_step : share.row_step) * left.stride;
#pragma unroll
  for (int e = 0; e < rows_of_thread; ++e) {
    numbers[e] = r < left.rows && k < left.inner ? *from : 0.0F;
    from += step, r += share.row_step, k += share.inner_step;
  }
}

template <bool transposed>
__device__ inline void put(Tile tile, const float (&numbers)[rows_of_thread], float* shared) {
  const Share<transposed> share(tile);
  const int step = share.inner_step * (tile.rows() + pad) + share.row_step;
  shared += share.inner * (tile.rows() + pad) + share.row;
#pragma unroll
  for (int e = 0; e < rows_of_thread; ++e) shared[e * step] = numbers[e];
}

// sums += rows `row` + own .. of left, times the thread's column of right [inner, columns]. All threads of the block
// call it; the tile is free before, and used until the next barrier.
template <bool transposed>
__device__ inline void add_product(const Left& left, Tile tile, int row, const float* right, float* shared,
                                   float (&sums)[rows_of_thread]) {
  const int column = static_cast<int>(threadIdx.x) & (tile.columns() - 1);
  const int own = (static_cast<int>(threadIdx.x) >> tile.column_bits) * rows_of_thread;
  float numbers[rows_of_thread];
  bring<transposed>(left, tile, row, 0, numbers);
  for (int inner = 0; inner < left.inner; inner += tile.inner()) {
    __syncthreads();
    put<transposed>(tile, numbers, shared);
    __syncthreads();
    if (inner + tile.inner() < left.inner) bring<transposed>(left, tile, row, inner + tile.inner(), numbers);
    const int count = left.inner - inner < tile.inner() ? left.inner - inner : tile.inner();
#pragma unroll 2
    for (int k = 0; k < count; ++k) {
      const float x = right[(inner + k) * tile.columns() + column];
      const float* const factors = shared + k * (tile.rows() + pad) + own;
#pragma unroll
      for (int half = 0; half < rows_of_thread; half += 4) {
        const Pack<4> four = load_pack<4>(factors + half);
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[half + e] += four.at[e] * x;
      }
    }
  }
}

// take(row, number) for the thread's numbers of the product. All threads of the block call it.
template <bool transposed, class F>
__device__ inline void multiply(const Left& left, Tile tile, const float* right, float* shared,
                                const F& take) {
  const int own = (static_cast<int>(threadIdx.x) >> tile.column_bits) * rows_of_thread;
  for (int row = 0; row < left.rows; row += tile.rows()) {
    float sums[rows_of_thread] = {};
    add_product<transposed>(left, tile, row, right, shared, sums);
#pragma unroll
    for (int e = 0; e < rows_of_thread; ++e)
      if (row + own + e < left.rows) take(row + own + e, sums[e]);
  }
}

__global__ void __launch_bounds__(threads) delta_states_kernel(DeltaStates call, Tile tile) {
  float* const state = static_cast<float*>(dynamic_shared());           // [dk, columns]
  float* const values = state + whole_packs(call.dk * tile.columns());  // [tokens, columns]
  float* const shared = values + whole_packs(call.tokens * tile.columns());
  const int column = static_cast<int>(threadIdx.x) & (tile.columns() - 1);
  // The blocks of a head are neighbours, which read the same matrices. One axis, because the others end at 65535.
  const int slabs = (call.dv + tile.columns() - 1) >> tile.column_bits;
  const std::int64_t head = blockIdx.x / slabs;
  const std::int64_t at = std::int64_t{blockIdx.x % slabs} * tile.columns() + column;  // of dv
  const bool there = at < call.dv;
  for (int i = static_cast<int>(threadIdx.x); i < call.dk * tile.columns(); i += threads) state[i] = 0;

  for (std::int64_t step = 0; step < call.chunks; ++step) {
    const std::int64_t chunk = call.backward ? call.chunks - 1 - step : step;
    const std::int64_t matrix = chunk * call.heads + head;
    const std::int64_t tokens = matrix * call.tokens, keys = matrix * call.dk;  // rows before this chunk's
    __syncthreads();
    const Left reads{call.reads + tokens * call.reads_stride, call.reads_stride, call.tokens, call.dk};
    multiply<false>(reads, tile, state, shared, [&](int i, float sum) {
      const float value = there ? sum + call.base[(tokens + i) * call.base_stride + at] : 0.0F;
      values[i * tile.columns() + column] = value;
      if (there) call.values[(tokens + i) * call.values_stride + at] = value;
    });
    __syncthreads();
    const float kept = call.kept[tokens + call.tokens - 1];
    const Left writes{call.writes + tokens * call.writes_stride, call.writes_stride, call.dk, call.tokens};
    multiply<true>(writes, tile, values, shared, [&](int i, float sum) {
      if (!there) return;
      float& number = state[i * tile.columns() + column];
      call.states[(keys + i) * call.dv + at] = number;
      number = kept * number + sum;
      if (call.added) number += call.added[(keys + i) * call.dv + at];
    });
  }
}

std::int64_t numbers_of(Tile tile, std::int64_t tokens, std::int64_t dk) {
  return (dk + tokens) * tile.columns() + 2 * 3 + tile.numbers();
}

Tile tile_for(const DeltaStates& call) {
  Tile tile{most_column_bits};
  while (tile.column_bits > least_column_bits &&
         (tile.columns() / 2 >= call.dv || numbers_of(tile, call.tokens, call.dk) > shared_numbers))
    --tile.column_bits;
  return tile;
}

}  // namespace

bool fits_delta_states(std::int64_t tokens, std::int64_t dk) {
  return numbers_of({least_column_bits}, tokens, dk) <= shared_numbers;
}

int delta_states(const DeltaStates& call, CUstream_st* stream) {
  if (call.chunks == 0 || call.heads == 0 || call.dv == 0) return 0;
  const Tile tile = tile_for(call);
  const std::int64_t slabs = (call.dv + tile.columns() - 1) >> tile.column_bits;
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(numbers_of(tile, call.tokens, call.dk));
  return launch(delta_states_kernel, static_cast<unsigned>(call.heads * slabs), threads, bytes, stream, call,
                tile);
}

}  // namespace d9d::cuda
