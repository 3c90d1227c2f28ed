#pragma once
// Remembers the values of integer tensors on a device that came from the host: ids, positions and labels
// of a batch. Code that needs them on the host (number of valid tokens, length of a sequence) asks here
// and does not wait.

#include <ATen/core/Tensor.h>

#include <optional>

namespace d9d::kernels {

// Remembers that the tensor `there` is a copy of `here`. Do not write to `here` afterwards. Both must be
// contiguous. The values are kept until the memory of `there` is freed. Thread-safe.
void keep_host_values(const at::Tensor& there, const at::Tensor& here);

// Returns the values of a tensor on the host. A tensor of the CPU is returned itself. For a
// device's tensor, or a view of one, returns the kept values if it has not been written to since,
// otherwise an undefined tensor.
at::Tensor host_values(const at::Tensor& tensor);
// The same, but copies the values from the device if the host does not know them, which
// makes the host wait.
at::Tensor fetch_host_values(const at::Tensor& tensor);

// The same for choices of experts on a device of which the host knows nothing but how many, `count`, fall on experts in
// [0, num_experts).
void keep_count(const at::Tensor& experts, int64_t num_experts, int64_t count);
// The count kept for all of these choices and as many experts, unless they have been written to since.
std::optional<int64_t> kept_count(const at::Tensor& experts, int64_t num_experts);

}  // namespace d9d::kernels
