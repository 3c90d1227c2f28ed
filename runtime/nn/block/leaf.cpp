#include "runtime/nn/block/leaf.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/where.h>

#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "runtime/nn/parallel/vocabulary.hpp"

namespace d9d {

Linear::Linear(ParameterMaker& make, std::int64_t in, std::int64_t out) {
  weight = make.normal(*this, "weight", {out, in});
}

void Linear::add_bias(ParameterMaker& make, const std::string& name) {
  bias = make.within(name, [&] { return make.constant(*this, "bias", {weight.size(0)}, 0.0F); });
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return bias.defined() ? kernels::linear(x, weight, bias) : kernels::linear(x, weight);
}

at::Tensor Linear::forward_shared(const at::Tensor& x, const ActivationShards& positions) const {
  if (!positions.shared()) return forward(x);
  const at::Tensor own = positions.scatter_sum(kernels::linear(x, weight));
  return bias.defined() ? at::add(own, bias) : own;
}

GroupedLinear::GroupedLinear(ParameterMaker& make, std::int64_t num_groups, std::int64_t in,
                             std::int64_t out) {
  weight = make.normal(*this, "weight", {num_groups, out, in});
}

RmsNorm::RmsNorm(ParameterMaker& make, std::int64_t width, double eps) : eps(eps) {
  weight = make.constant(*this, "weight", {width}, 1.0F);
}

at::Tensor RmsNorm::forward(const at::Tensor& x) const {
  return kernels::rms_norm(x, weight, eps);
}

TokenEmbedding::TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                               std::optional<std::int64_t> padding_id)
    : padding_id(padding_id) {
  weight = make.normal(*this, "weight", {vocab_size, width});
}

at::Tensor TokenEmbedding::forward(const at::Tensor& ids) const {
  if (shards) return shards->embed(ids, weight, padding_id);
  const at::Tensor rows = kernels::embedding(ids, weight);
  if (!padding_id || !rows.requires_grad()) return rows;
  return at::where(at::eq(ids, *padding_id).unsqueeze(-1), rows.detach(), rows);
}

}  // namespace d9d
