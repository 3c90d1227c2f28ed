#pragma once
// The choices of experts, as several ops take them. Internal to kernels/.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// Throws c10::Error if the choices are not int64 [T, k] for the tokens of x [T, H].
inline void check_choices(const char* op, const at::Tensor& x, const at::Tensor& experts) {
  TORCH_CHECK(x.dim() == 2 && experts.dim() == 2 && x.size(0) == experts.size(0) &&
                  experts.scalar_type() == at::kLong,
              op, " of x ", x.sizes(), " by experts ", experts.sizes(), " ", experts.scalar_type(),
              ": expected [T, H] and int64 [T, k]");
}

}  // namespace d9d::kernels
