#include "runtime/state/convert/box_filler.hpp"

#include <ATen/ops/from_blob.h>

#include <new>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/state/convert/box_cursor.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Values keep their order: dims come as they are, new ones between them.
bool keeps_order(const std::vector<int>& dims) {
  int last = -1;
  for (const int dim : dims) {
    if (dim >= 0 && dim < last) return false;
    if (dim >= 0) last = dim;
  }
  return true;
}

constexpr std::align_val_t as_blocks{disk_block};

}  // namespace

BoxFiller::Memory::Memory(std::uint64_t bytes)
    : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new(bytes + disk_block, as_blocks))) {}

void BoxFiller::Memory::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, as_blocks);
}

std::byte* BoxFiller::Memory::at(std::uint64_t offset) const {
  return memory_.get() + offset % disk_block;
}

at::Tensor BoxFiller::Memory::as(const Shape& shape, at::ScalarType type, std::uint64_t offset) const {
  D9D_CHECK(static_cast<std::uint64_t>(num_elements(shape)) * c10::elementSize(type) <= bytes_,
            "a box of shape {} has more than {} bytes", to_text(shape), bytes_);
  return at::from_blob(at(offset), shape, at::TensorOptions(type));
}

BoxFiller::BoxFiller(const TensorSource& source, const StateMapper& mapper, std::uint64_t box_bytes)
    : source_(source), mapper_(mapper), part_(box_bytes), staged_(box_bytes) {}

at::Tensor BoxFiller::fill(const ConversionPiece& piece, std::uint64_t offset) const {
  const at::Tensor part = part_.as(piece.box.shape(), scalar_type_of(piece.output.dtype), offset);
  const auto pieces = mapper_.trace(piece.output.name, piece.box, *piece.shapes);
  D9D_CHECK(pieces, "the pieces of \"{}\" are known, but not those of a box of it", piece.output.name);
  for (const auto& from : *pieces) put(from, piece.box, piece.shapes->at(from.input).scalar_type(), part);
  return part;
}

void BoxFiller::put(const Piece& piece, const Slice& box, at::ScalarType type, const at::Tensor& part) const {
  if (is_empty(piece.from)) return;
  const Slice to = relative_to(piece.to, box);
  const Shape shape = box.shape();
  if (type == part.scalar_type() && keeps_order(piece.dims) && is_one_run(to, shape)) {
    const auto begin = static_cast<std::size_t>(first_value(to, shape)) * c10::elementSize(type);
    return source_.read_into(piece.input, piece.from, static_cast<std::byte*>(part.data_ptr()) + begin);
  }
  source_.read_into(piece.input, piece.from, staged_.at(0));
  slice_view(part, to).copy_(view_of(piece, staged_.as(piece.from.shape(), type)));
}

}  // namespace d9d
