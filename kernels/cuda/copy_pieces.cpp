#include "kernels/cuda/copy_pieces.hpp"

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::CopiedPiece;
using kernels::CopiedPieces;

// Without empty pieces; neighbours in both tensors are one piece. Then the end of all.
std::vector<PieceOfBytes> table_of(const CopiedPieces& pieces, std::int64_t element_size) {
  std::vector<PieceOfBytes> table;
  table.reserve(pieces.size() + 1);
  std::int64_t begin = 0;
  for (const CopiedPiece& piece : pieces) {
    if (piece.count == 0) continue;
    const PieceOfBytes next{piece.to * element_size, piece.from * element_size, begin};
    begin += piece.count * element_size;
    if (!table.empty()) {
      const PieceOfBytes& last = table.back();
      const std::int64_t length = next.begin - last.begin;
      if (next.to == last.to + length && next.from == last.from + length) continue;
    }
    table.push_back(next);
  }
  table.push_back({0, 0, begin});
  return table;
}

void copy(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces) {
  const c10::DeviceGuard guard(to.device());
  const std::vector<PieceOfBytes> table = table_of(pieces, to.element_size());
  CopiedBytes call{.to = data_of<char>(to),
                   .from = static_cast<const char*>(from.const_data_ptr()),
                   .bytes = table.back().begin,
                   .count = static_cast<int>(table.size()) - 1,
                   .pieces = table.data()};
  at::Tensor there;  // freed here, after the launch on its stream
  if (call.count > pieces_in_arguments_max) {
    std::vector<std::int64_t> numbers;
    for (const PieceOfBytes& piece : table)
      numbers.insert(numbers.end(), {piece.to, piece.from, piece.begin});
    there = uploaded(numbers, to.device());
    call.pieces = static_cast<const PieceOfBytes*>(there.const_data_ptr());
  }
  check_launch(copy_pieces(call, stream_of(to)), "copy_pieces");
}

}  // namespace

void add_copy_pieces(kernels::OpTable& table) {
  table.copy_pieces = copy;
}

}  // namespace d9d::cuda
