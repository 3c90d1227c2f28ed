#pragma once
// Row movements of the expert layers without autograd. Internal to kernels/.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

struct ExpertOrder {
  at::Tensor offsets;  // int64 [E + 1]
  at::Tensor map;      // int64 [T, k], -1 for a choice outside [0, E)
};

// Counting sort of choices by expert; stable, so an expert's rows are in token order.
ExpertOrder expert_order(const at::Tensor& experts, int64_t num_experts);

// rows[map[t, j]] = scale[t, j] * x[t]   (scale may be undefined: 1).   x [T, H] -> [R, H]
at::Tensor spread_rows(const at::Tensor& x, const at::Tensor& map, const at::Tensor& scale, int64_t num_rows);

// y[t] = sum_j scale[t, j] * rows[map[t, j]].   -> [T, H]
at::Tensor combine_rows(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale);

// d[t, j] = y[t] . rows[map[t, j]], 0 where the map is -1.   -> [T, k] in the dtype of sums
at::Tensor row_dots(const at::Tensor& y, const at::Tensor& rows, const at::Tensor& map);

}  // namespace d9d::kernels
