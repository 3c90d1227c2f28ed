#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// weight[ids]. ids int64 [..] in [0, V), weight [V, H] -> [.., H]. An id outside is an error that names it.
// The gradient is summed per row in the order of the tokens: the same on every run and thread count.
at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight);

}  // namespace d9d::kernels
