#pragma once
// The number of rows that choices of experts make, as far as the host knows it.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// How many choices, int64 of any shape, fall on experts in [0, num_experts): the rows that an op makes of them. The
// host must not wait to learn it: if it knows neither the choices nor their number (host_values.hpp), all count.
int64_t count_rows(const at::Tensor& experts, int64_t num_experts);

}  // namespace d9d::kernels
