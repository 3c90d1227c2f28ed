#pragma once
// Integers that the host knows although they are on a device: ids, positions and labels of a batch come from it.
// Code that has to look at them (how many tokens count, how long a sequence is) asks here and does not wait.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// Remembers that the tensor `there` is a copy of `here`, which stays as it is from now on. Both are contiguous. The
// values are kept until the memory of `there` is freed. Any thread.
void keep_host_values(const at::Tensor& there, const at::Tensor& here);

// The values of a tensor: itself on the CPU; of a device's tensor or a view of it those that are kept, if it was not
// written to; else undefined.
at::Tensor host_values(const at::Tensor& tensor);
// The same, but copied from the device where the host does not know them: then it waits.
at::Tensor fetch_host_values(const at::Tensor& tensor);

}  // namespace d9d::kernels
