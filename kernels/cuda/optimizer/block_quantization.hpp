#pragma once
// Numbers in blocks of bytes. See kernels/optimizer/block_quantization.hpp.

#include "kernels/cuda/launch.hpp"
#include "kernels/optimizer/code_book.hpp"

namespace d9d::cuda {

// x [count], codes [count], scales [ceil(count / block)].
struct BlocksOfBytes {
  std::int64_t count = 0;
  std::int64_t block = 0;
  bool positive = false;
  float* x = nullptr;
  std::uint8_t* codes = nullptr;
  float* scales = nullptr;
  kernels::CodeTables tables;  // 3 KiB, which travel with the launch
};
int quantize_blocks(const BlocksOfBytes& call, CUstream_st* stream);
int dequantize_blocks(const BlocksOfBytes& call, CUstream_st* stream);

}  // namespace d9d::cuda
