#include "runtime/tensor/gradient.hpp"

namespace d9d {

void set_gradient(const at::Tensor& leaf, const at::Tensor& gradient) {
  leaf.mutable_grad() = at::Tensor();  // the old one, which may be of another type
  leaf.set_grad_dtype(gradient.scalar_type());
  leaf.mutable_grad() = gradient;
}

}  // namespace d9d
