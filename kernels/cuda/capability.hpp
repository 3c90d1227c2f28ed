#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::cuda {

// Of the tensor's GPU: 90 for 9.0.
int compute_capability(const at::Tensor& tensor);

}  // namespace d9d::cuda
