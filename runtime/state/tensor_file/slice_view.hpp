#pragma once
// The view of a tensor that is a slice of it.

#include <ATen/core/Tensor.h>

#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

at::Tensor slice_view(at::Tensor tensor, const Slice& slice);

}  // namespace d9d
