#pragma once
// The causal depthwise convolution before the delta rule, and its gradients. See kernels/attention/short_convolution.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// x [sequences, length, heads, width] with a dense last dimension; strides count elements.
struct Channels {
  const void* data = nullptr;
  std::int64_t sequence_stride = 0, token_stride = 0, head_stride = 0;
};

// Tensors that are not named otherwise are dense, [sequences, length, heads, width].
struct ShortConvolution {
  ElementType type = ElementType::float32;  // of x, y, dy and dx
  std::int64_t sequences = 0, length = 0, heads = 0, width = 0;
  int taps = 0;
  Channels x;
  const float* weight = nullptr;  // [heads, taps, width]
  void* y = nullptr;
  const void* dy = nullptr;
  float* dsum = nullptr;
  void* dx = nullptr;
};
// y = silu(sum).
int short_convolution(const ShortConvolution& call, CUstream_st* stream);
// dsum from dy.
int short_convolution_dsum(const ShortConvolution& call, CUstream_st* stream);
// dx from dsum.
int short_convolution_dx(const ShortConvolution& call, CUstream_st* stream);

// Sums of dsum * x over slabs of tokens into partial [slabs, heads, taps, width].
struct ShortConvolutionDw {
  ElementType type = ElementType::float32;  // of x
  std::int64_t sequences = 0, length = 0, heads = 0, width = 0;
  int taps = 0;
  Channels x;
  const float* dsum = nullptr;
  float* partial = nullptr;
};
std::int64_t short_convolution_slabs(std::int64_t tokens);
int short_convolution_dw(const ShortConvolutionDw& call, CUstream_st* stream);

}  // namespace d9d::cuda
