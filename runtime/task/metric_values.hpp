#pragma once
// Tensors as metrics take them: all elements, row-major, whatever the dtype, strides and device.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace d9d {

std::vector<double> numbers_of(const at::Tensor& tensor);
// Of an integer or bool tensor; an input error for another dtype.
std::vector<std::int64_t> integers_of(const at::Tensor& tensor);

}  // namespace d9d
