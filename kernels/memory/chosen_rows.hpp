#pragma once
// The number of rows that choices of experts make, as far as the host knows it.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// How many choices, int64 of any shape, fall on experts in [0, num_experts): the rows that an op makes of them. The host
// must not wait to learn it. If it knows neither the choices (host_values) nor their number (keep_count), all count.
int64_t count_rows(const at::Tensor& experts, int64_t num_experts);

// Remembers this number for choices on a device. It is forgotten when they are written to or freed. Thread-safe. The
// whole tensor has to be given to count_rows, with the same num_experts.
void keep_count(const at::Tensor& experts, int64_t num_experts, int64_t count);

}  // namespace d9d::kernels
