#pragma once
// The gated delta rule by its definition (kernels/attention/delta_rule.hpp), token by token, with torch's ops.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <vector>

#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::test {

inline at::Tensor delta_recurrence(const at::Tensor& given_q, const at::Tensor& given_k, const at::Tensor& v,
                                   const at::Tensor& decay, const at::Tensor& beta,
                                   const kernels::DeltaRuleOptions& options) {
  const std::int64_t group = v.size(2) / given_q.size(2);
  const auto heads = [&](const at::Tensor& x) {
    const at::Tensor unit = x * (x.square().sum(-1, true) + kernels::delta_norm_eps).rsqrt();
    return (options.normalise ? unit : x).repeat_interleave(group, 2);
  };
  const at::Tensor q = heads(given_q) * options.scale, k = heads(given_k), kept = decay.exp();
  at::Tensor state = at::zeros({q.size(0), q.size(2), q.size(3), v.size(3)}, v.options());
  std::vector<at::Tensor> out;
  for (std::int64_t token = 0; token < q.size(1); ++token) {
    const at::Tensor key = k.select(1, token).unsqueeze(-1);
    state = state * kept.select(1, token).unsqueeze(-1).unsqueeze(-1);
    const at::Tensor known = (state * key).sum(-2);
    const at::Tensor change = (v.select(1, token) - known) * beta.select(1, token).unsqueeze(-1);
    state = state + key * change.unsqueeze(-2);
    out.push_back((state * q.select(1, token).unsqueeze(-1)).sum(-2));
  }
  return at::stack(out, 1);
}

}  // namespace d9d::test
