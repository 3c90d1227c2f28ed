#pragma once
// Remembers the values of integer tensors on a device that came from the host: ids, positions and labels
// of a batch. Code that needs them on the host (number of valid tokens, length of a sequence) asks here
// and does not wait.

#include <ATen/core/Tensor.h>

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

}  // namespace d9d::kernels
