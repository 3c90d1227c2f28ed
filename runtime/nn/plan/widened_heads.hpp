#pragma once
// Attention with values of another width than keys, for implementations that need one width.

#include <ATen/core/Tensor.h>

#include <functional>

namespace d9d {

using Attend = std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;

// Calls attend(q, k, v) with the narrower heads padded by zeros. The zeros add nothing to scores and sums. q
// and k [B, S, .., D], v [B, S, Hkv, Dv] -> [B, S, Hq, Dv]. Differentiable.
at::Tensor attend_equally_wide(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const Attend& attend);

}  // namespace d9d
