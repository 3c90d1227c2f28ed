#pragma once
// Named tensors that can be read whole or in boxes: those of a folder, of a checkpoint, or of a
// model with an adapter. Const calls from several threads are fine.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

#include "runtime/state/tensor_file/safetensors_header.hpp"

namespace d9d {

// Const calls from several threads are fine.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // An input error when there is none of that name.
  virtual const TensorSpec& spec(const std::string& name) const = 0;
  // Whether reading a box costs no more than its share of the tensor.
  virtual bool reads_boxes(const std::string& name) const = 0;
  // Reads a contiguous CPU tensor of the dtype in spec().
  virtual at::Tensor read(const std::string& name) const = 0;
  // Reads the box's values in row-major order, of that dtype.
  virtual void read_into(const std::string& name, const Slice& box, std::byte* into) const = 0;
};

}  // namespace d9d
