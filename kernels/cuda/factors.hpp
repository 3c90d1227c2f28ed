#pragma once
// What cuBLAS takes as the factors of a product.

#include <ATen/core/Tensor.h>

namespace d9d::cuda {

struct Factors {
  at::Tensor a, b;
};
// cuBLAS takes factors of one type. Of two types both become float32, which is exact; the product is then one of
// float32 without TF32, some ten times as slow as one of bfloat16. The first time in a process a warning says so, with
// shapes and remedy.
Factors of_one_type(const at::Tensor& a, const at::Tensor& b);

}  // namespace d9d::cuda
