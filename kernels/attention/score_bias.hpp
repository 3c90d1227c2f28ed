#pragma once
// Biases of attention's scores (ScoreBias in ops/attention_ops.hpp): masks as tensors, and what devices that compute
// scores a rectangle at a time need. No autograd.

#include <ATen/core/Tensor.h>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// A mask of booleans, true where a query sees a key, as torch's scaled_dot_product_attention has it -> a bias of the
// same shape, 0 and -inf. For the opposite meaning give mask.logical_not().
at::Tensor bias_of_mask(const at::Tensor& sees, at::ScalarType dtype = at::kFloat);

// Queries first .. first + count of all `queries`, and keys key .. key + keys.
struct ScorePart {
  int64_t queries, first, count, key, keys;
};

// The bias of a part in `dtype`, [B or 1, Hq or 1, count or 1, keys].
at::Tensor bias_of_part(const ScoreBias& bias, const ScorePart& part, at::ScalarType dtype);
// gradient += those of a part's scores, [B, Hq, count, keys], summed over what the bias is shared by. `gradient` has
// the shape of the bias and the scores' dtype.
void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& of_scores, const ScorePart& part,
                       bool by_distance);

}  // namespace d9d::kernels
