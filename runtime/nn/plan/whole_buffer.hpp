#pragma once
// A flat tensor whose memory can be taken away and given back while its views (a module's
// weights or their gradients) stay the same tensor objects. Reading a view without memory is a
// bug; torch reports it where it can.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

class WholeBuffer {
 public:
  WholeBuffer() = default;
  WholeBuffer(std::int64_t count, const at::TensorOptions& options);

  // Makes a view of `shape` that starts at element `begin`. Allowed with and without memory.
  at::Tensor view(std::int64_t begin, at::IntArrayRef shape) const;
  bool has_memory() const { return has_memory_; }
  // Takes over the memory of `memory`, which has the same length and dtype. Do
  // not use that tensor afterwards.
  void give(const at::Tensor& memory);
  // Removes the memory from the buffer and returns it as a tensor.
  at::Tensor take();

  // Allocates an uninitialised tensor that give() accepts.
  at::Tensor make_memory() const;

 private:
  at::Tensor whole_;
  bool has_memory_ = false;
};

}  // namespace d9d
