#pragma once
// Copies many ranges between two tensors by one call: on a GPU each call of copy_ is a launch of its own.

#include <ATen/core/Tensor.h>

#include "kernels/ops/memory_ops.hpp"

namespace d9d::kernels {

// to[piece.to + i] = from[piece.from + i] for i in [0, piece.count), for each piece. `to` and `from`: flat and
// contiguous, of one dtype (any) and device, without common memory. Elements of `to` in no piece stay unchanged.
// The ranges in `to` must not overlap. The host waits for no device. c10::Error if a range ends outside of its tensor.
void copy_pieces(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces);

}  // namespace d9d::kernels
