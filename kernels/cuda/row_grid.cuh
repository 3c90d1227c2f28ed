#pragma once
// Kernels that do the same with each pack of each row of a matrix.

#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {

constexpr int row_grid_threads = 256;

// Threads of a block lie over a rectangle that is `across` packs wide, a power of two.
struct RowGrid {
  std::int64_t rows = 0;
  std::int64_t packs = 0;  // of a row
  int across = row_grid_threads;
};

// body(row, pack) for all.
template <class Body>
__global__ void row_grid_kernel(RowGrid grid, Body body) {
  const int down = row_grid_threads / grid.across;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * down + threadIdx.x / grid.across;
  const std::int64_t first_pack = std::int64_t{blockIdx.x} * grid.across + threadIdx.x % grid.across;
  for (std::int64_t row = first_row; row < grid.rows; row += std::int64_t{gridDim.y} * down)
    for (std::int64_t pack = first_pack; pack < grid.packs; pack += std::int64_t{gridDim.x} * grid.across)
      body(row, pack);
}

template <class Body>
int launch_rows(std::int64_t rows, std::int64_t packs, const Body& body, CUstream_st* stream) {
  if (rows == 0 || packs == 0) return 0;
  RowGrid grid{rows, packs, row_grid_threads};
  while (grid.across > 1 && grid.across / 2 >= packs) grid.across /= 2;
  const int down = row_grid_threads / grid.across;
  const auto blocks = [](std::int64_t count, std::int64_t size, std::int64_t most) {
    const std::int64_t wanted = (count + size - 1) / size;
    return static_cast<unsigned>(wanted < most ? wanted : most);
  };
  const dim3 size(blocks(packs, grid.across, 1 << 16), blocks(rows, down, 1 << 14));
  return launch(row_grid_kernel<Body>, size, row_grid_threads, 0, stream, grid, body);
}

}  // namespace d9d::cuda
