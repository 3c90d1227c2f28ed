#include "kernels/copy_pieces.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

bool lies_in(int64_t begin, int64_t count, const at::Tensor& tensor) {
  return begin >= 0 && count >= 0 && begin <= tensor.numel() - count;
}

}  // namespace

void copy_pieces(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces) {
  TORCH_CHECK(to.dim() == 1 && from.dim() == 1 && to.is_contiguous() && from.is_contiguous() &&
                  to.scalar_type() == from.scalar_type(),
              "copy_pieces from ", from.scalar_type(), " ", from.sizes(), " to ", to.scalar_type(), " ",
              to.sizes(), ": expected flat contiguous tensors of one dtype");
  for (const CopiedPiece& piece : pieces) {
    TORCH_CHECK(lies_in(piece.to, piece.count, to) && lies_in(piece.from, piece.count, from),
                "copy_pieces: ", piece.count, " elements from ", piece.from, " of ", from.numel(), " to ",
                piece.to, " of ", to.numel());
  }
  run_op(&OpTable::copy_pieces, to, from, pieces);
}

}  // namespace d9d::kernels
