#pragma once
// Sets the buffer to which autograd adds the gradient of a weight. Its type may be wider than the weight's.

#include <ATen/core/Tensor.h>

namespace d9d {

// Makes `gradient` the grad() of a leaf of the same shape, and makes autograd add in the type of `gradient`.
// Why: if a leaf is used several times in one backward pass, autograd sums these gradients before it adds
// them to grad(). By default it does so in the leaf's own type.
void set_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

}  // namespace d9d
