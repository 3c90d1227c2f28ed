#pragma once
// Attention over two blocks of keys from that over each (Dao et al. 2022, 3.1).

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// [batch, length, heads, dim], the elements of a head are neighbours; strides in elements.
struct HeadsOut {
  float* data = nullptr;
  std::int64_t batch_stride = 0, token_stride = 0, head_stride = 0;
};
// [batch, heads, length]
struct HeadsLse {
  float* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, token_stride = 0;
};

// `out` and `lse` become those over the keys of both.
struct MergeBlocks {
  std::int64_t batch = 0, length = 0, heads = 0, dim = 0;
  HeadsOut out, block_out;
  HeadsLse lse, block_lse;
};
int merge_blocks(const MergeBlocks& call, CUstream_st* stream);

}  // namespace d9d::cuda
