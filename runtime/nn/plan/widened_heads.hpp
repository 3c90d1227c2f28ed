#pragma once
// For attention that moves queries, keys and values together, which have to be equally wide for that.

#include <ATen/core/Tensor.h>

#include <functional>

namespace d9d {

using Attend = std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;

// attend(q, k, v), with zeros behind the heads of those that are narrower: they add nothing to scores and sums.
// q and k [B, S, .., D], v [B, S, Hkv, Dv] -> [B, S, Hq, Dv]. Differentiable.
at::Tensor attend_equally_wide(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const Attend& attend);

}  // namespace d9d
