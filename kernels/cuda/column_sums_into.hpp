#pragma once
// column_sums.hpp for tensors.

#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {

// into [width], fp32 or bf16 and of any stride, = the sum of the rows of partial [rows, width] + beta into.
inline void column_sums_into(const at::Tensor& partial, const at::Tensor& into, double beta, const char* op) {
  const at::Tensor dense = into.contiguous();
  check_launch(column_sums({.type = type_of(into),
                            .rows = partial.size(0),
                            .width = partial.size(1),
                            .partial = data_of<float>(partial),
                            .into = data_of(dense),
                            .add = beta != 0},
                           stream_of(partial)),
               op);
  if (!dense.is_same(into)) into.copy_(dense);
}

}  // namespace d9d::cuda
