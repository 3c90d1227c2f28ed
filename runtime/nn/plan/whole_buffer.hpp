#pragma once
// One flat tensor whose memory comes and goes while tensors that are
// views of it keep their identity: a module's weights, or their gradients.
// Without memory, reading a view is a bug that torch reports where it can.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

class WholeBuffer {
 public:
  WholeBuffer() = default;
  WholeBuffer(std::int64_t count, const at::TensorOptions& options);

  // A view, in any state.
  at::Tensor view(std::int64_t begin, at::IntArrayRef shape) const;
  bool has_memory() const { return has_memory_; }
  // The memory of a tensor of this length and type becomes the buffer's; the tensor is of no use after.
  void give(const at::Tensor& memory);
  // Takes it out again, as a tensor.
  at::Tensor take();

  // A tensor that give() accepts, with whatever values.
  at::Tensor make_memory() const;

 private:
  at::Tensor whole_;
  bool has_memory_ = false;
};

}  // namespace d9d
