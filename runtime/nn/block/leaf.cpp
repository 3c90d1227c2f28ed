#include "runtime/nn/block/leaf.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

#include "kernels/graph/kept_results.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/shard/activation_shards.hpp"

namespace d9d {
namespace {

kernels::LowRankTerm term_of(const Linear& linear) {
  return linear.branch ? linear.branch->low_rank() : kernels::LowRankTerm();
}

// Applies the branch to y = weight x + bias. Its scale multiplies the product alone, not the bias. `bias`:
// undefined when y does not contain it. A low-rank term is in y already.
at::Tensor with_branch(const Linear& linear, const kernels::LowRankTerm& term, const at::Tensor& x,
                       const at::Tensor& y, const at::Tensor& bias) {
  if (!linear.branch || term.a.defined()) return y;
  const auto [added, scale] = linear.branch->forward(x);
  if (!scale.defined()) return at::add(y, added);
  const at::Tensor scaled = at::mul(y, scale);
  const at::Tensor sum = added.defined() ? at::add(scaled, added) : scaled;
  return bias.defined() ? at::add(sum, at::sub(bias, at::mul(bias, scale))) : sum;
}

at::Tensor product(const Linear& linear, const at::Tensor& x, const at::Tensor& bias) {
  const kernels::LowRankTerm term = term_of(linear);
  return with_branch(linear, term, x, kernels::linear(x, linear.weight, bias, term), bias);
}

}  // namespace

Linear::Linear(ParameterMaker& make, std::int64_t in, std::int64_t out) {
  weight = make.normal(*this, "weight", {out, in});
}

void Linear::add_bias(ParameterMaker& make, const std::string& name) {
  bias = make.within(name, [&] { return make.constant(*this, "bias", {weight.size(0)}, 0.0F); });
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return product(*this, x, bias);
}

at::Tensor Linear::forward_shared(const at::Tensor& x, const ActivationShards& positions) const {
  if (!positions.shared()) return forward(x);
  const at::Tensor summand = product(*this, x, {});
  kernels::mark_read_by_next(summand);
  const at::Tensor own = positions.scatter_sum(summand);
  return bias.defined() ? at::add(own, bias) : own;
}

std::vector<at::Tensor> linear_multi(const at::Tensor& x,
                                     const std::vector<std::reference_wrapper<const Linear>>& linears) {
  std::vector<at::Tensor> weights, biases;
  std::vector<kernels::LowRankTerm> terms;
  for (const Linear& linear : linears) {
    weights.push_back(linear.weight);
    terms.push_back(term_of(linear));
    if (linear.bias.defined()) biases.push_back(linear.bias);
  }
  D9D_CHECK(biases.empty() || biases.size() == linears.size(), "{} of {} linears have a bias", biases.size(),
            linears.size());
  std::vector<at::Tensor> results = kernels::linear_multi(x, weights, biases, terms);
  for (std::size_t i = 0; i < linears.size(); ++i) {
    const Linear& linear = linears[i];
    results[i] = with_branch(linear, terms[i], x, results[i], linear.bias);
  }
  return results;
}

GroupedLinear::GroupedLinear(ParameterMaker& make, std::int64_t num_groups, std::int64_t in, std::int64_t out,
                             bool has_bias) {
  weight = make.normal(*this, "weight", {num_groups, out, in});
  if (has_bias) bias = make.vectors(*this, "bias", {num_groups, out});
}

at::Tensor GroupedLinear::forward(const at::Tensor& rows, const at::Tensor& offsets) const {
  const at::Tensor y = kernels::grouped_linear(rows, weight, offsets, bias);
  return branch ? at::add(y, branch->forward(rows, offsets)) : y;
}

RmsNorm::RmsNorm(ParameterMaker& make, std::int64_t width, double eps, bool zero_centered, NormKind kind)
    : eps(eps), zero_centered(zero_centered), kind(kind) {
  D9D_CHECK(kind == NormKind::root_mean_square || !zero_centered, "a zero-centred layer norm");
  weight = make.constant(*this, "weight", {width}, zero_centered ? 0.0F : 1.0F);
}

at::Tensor RmsNorm::forward(const at::Tensor& x) const {
  if (kind == NormKind::layer) return kernels::layer_norm(x, weight, eps);
  return kernels::rms_norm(x, weight, eps, zero_centered);
}

}  // namespace d9d
