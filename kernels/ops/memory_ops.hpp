#pragma once
// The ops that move memory, which each device implements. Their callers have checked shapes and dtypes.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// `count` elements of one flat tensor, from element `from` on, and their place in another one.
struct CopiedPiece {
  int64_t to = 0, from = 0, count = 0;

  bool operator==(const CopiedPiece&) const = default;
};
using CopiedPieces = std::vector<CopiedPiece>;

struct MemoryOps {
  // See copy_pieces.hpp. One launch however many pieces there are.
  Op<void(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces)> copy_pieces{
      "copy_pieces"};
};

}  // namespace d9d::kernels
