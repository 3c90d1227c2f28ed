#include "kernels/cuda/factors.hpp"

#include <c10/util/Exception.h>

namespace d9d::cuda {

Factors of_one_type(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == b.scalar_type()) return {a, b};
  TORCH_WARN_ONCE(
      "a product of ", a.scalar_type(), " ", a.sizes(), " and ", b.scalar_type(), " ", b.sizes(), " on ",
      a.device(),
      " is computed in float32 without TF32, some ten times as slow as in bfloat16: GPUs multiply factors "
      "of one type. Give both the same dtype (a weight that an adapter or a plugin makes: that of the "
      "model). This is said once, for the first such product");
  return {a.to(at::kFloat), b.to(at::kFloat)};
}

}  // namespace d9d::cuda
