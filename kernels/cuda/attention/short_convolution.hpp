#pragma once
// The causal depthwise convolution before the delta rule, and its gradients: see kernels/attention.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

constexpr int convolved_parts_max = 4;

// x [sequences, length, heads, width] with a dense last dimension; strides count elements. Its channels' weights are
// the rows of `weight` [heads width, taps], dense. All other tensors are dense, of x's sizes.
struct ConvolvedPart {
  std::int64_t width = 0;
  const void* x = nullptr;
  std::int64_t sequence_stride = 0, token_stride = 0, head_stride = 0;
  const void* weight = nullptr;
  void* y = nullptr;
  const void* dy = nullptr;
  float* dsum = nullptr;
  void* dx = nullptr;
};

struct ShortConvolution {
  ElementType type = ElementType::float32;  // of x, weight, y, dy and dx
  std::int64_t sequences = 0, length = 0, heads = 0;
  int taps = 0;
  ConvolvedPart part[convolved_parts_max];  // those that are not there have a width of 0
};
// y = silu(sum).
int short_convolution(const ShortConvolution& call, CUstream_st* stream);
// dsum from dy.
int short_convolution_dsum(const ShortConvolution& call, CUstream_st* stream);
// dx from dsum.
int short_convolution_dx(const ShortConvolution& call, CUstream_st* stream);
// Sums of dsum * x over slabs of tokens into partial [slabs, rows of all parts' weights, taps].
std::int64_t short_convolution_slabs(std::int64_t tokens);
int short_convolution_dw(const ShortConvolution& call, float* partial, CUstream_st* stream);

}  // namespace d9d::cuda
