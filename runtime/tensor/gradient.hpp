#pragma once
// The buffer that the gradient of a weight is added to. Its type may be wider than the weight's.

#include <ATen/core/Tensor.h>

namespace d9d {

// Makes `gradient` the grad() of a leaf of the same shape. All that reaches the weight in one backward pass is then added
// up in the buffer's type: autograd sums the uses of a leaf before it adds them to grad(), and takes the leaf's own type
// for that unless it is told of another.
void set_gradient(const at::Tensor& leaf, const at::Tensor& gradient);

}  // namespace d9d
