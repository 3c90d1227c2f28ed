#pragma once
// The gated delta rule by batched products over all chunks at once; one pass over the chunks carries the state. Names
// and formulas are those of kernels/cpu/delta_heads.cpp.

#include <ATen/core/Tensor.h>

namespace d9d::cuda {

// fp32, contiguous. C: chunks, A: sequences times key heads, g: value heads of a key head, n: tokens of a chunk. What
// a sequence lacks to its last chunk's end are zeros, which change no state.
struct DeltaChunks {
  at::Tensor q, k;         // [C, A, 1, n, Dk], normed and scaled
  at::Tensor v;            // [C, A, g, n, Dv]
  at::Tensor decay, beta;  // [C, A, g, n]
};

// -> [C, A, g, n, Dv]
at::Tensor delta_chunks(const DeltaChunks& in);

// dout as the result. Gradients are as their inputs.
DeltaChunks delta_chunks_backward(const at::Tensor& dout, const DeltaChunks& in);

}  // namespace d9d::cuda
