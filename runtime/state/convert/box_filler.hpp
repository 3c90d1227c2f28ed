#pragma once
// Fills boxes of outputs with the values that a mapper's pieces name. Use one per thread: it has
// memory for one box and reuses it for the next.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/state/convert/conversion_queue.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"

namespace d9d {

class BoxFiller {
 public:
  // `source` and `mapper` must outlive it; a box has at most `box_bytes` bytes.
  BoxFiller(const TensorSource& source, const StateMapper& mapper, std::uint64_t box_bytes);

  // Returns the box's values in the type of the output, valid until the next call. They are
  // aligned in memory as they will be in a file from `offset` on, so that the disk can take them
  // without a copy (posix_write_file.hpp).
  at::Tensor fill(const ConversionPiece& piece, std::uint64_t offset) const;

 private:
  class Memory {
   public:
    explicit Memory(std::uint64_t bytes);
    std::byte* at(std::uint64_t offset) const;
    at::Tensor as(const Shape& shape, at::ScalarType type, std::uint64_t offset = 0) const;

   private:
    struct Free {
      void operator()(std::byte* memory) const;
    };
    std::uint64_t bytes_;
    std::unique_ptr<std::byte, Free> memory_;  // not cleared; begins with a block of the disk
  };

  void put(const Piece& piece, const Slice& box, at::ScalarType type, const at::Tensor& part) const;

  const TensorSource& source_;
  const StateMapper& mapper_;
  const Memory part_;
  const Memory staged_;
};

}  // namespace d9d
