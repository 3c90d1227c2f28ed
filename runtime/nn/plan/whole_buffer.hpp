#pragma once
// A flat tensor whose memory can be freed and given back while its views, a
// module's weights or their gradients, stay the same tensor objects. Reading a
// view while there is no memory is a bug; torch reports it where it can.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

class WholeBuffer {
 public:
  WholeBuffer() = default;
  WholeBuffer(std::int64_t count, const at::TensorOptions& options);

  // A view of [begin, begin + size of shape). Allowed with and without memory.
  at::Tensor view(std::int64_t begin, at::IntArrayRef shape) const;
  bool has_memory() const { return has_memory_; }
  // Takes over the memory of a tensor of the same length and dtype. Do not use that tensor afterwards.
  void give(const at::Tensor& memory);
  // Removes the memory from the buffer and returns it as a tensor.
  at::Tensor take();

  // An uninitialised tensor that give() accepts.
  at::Tensor make_memory() const;

 private:
  at::Tensor whole_;
  bool has_memory_ = false;
};

}  // namespace d9d
