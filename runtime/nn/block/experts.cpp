#include "runtime/nn/block/experts.hpp"

#include "kernels/activation.hpp"
#include "kernels/moe.hpp"

namespace d9d {

SwiGluExperts::SwiGluExperts(ParameterMaker& make, const MoeOptions& options) {
  const auto grouped = [&](const char* name, std::int64_t in, std::int64_t out) {
    return make.child<GroupedLinear>(*this, name, options.num_experts, in, out);
  };
  gate_proj_ = grouped("gate_proj", options.hidden_size, options.intermediate_size);
  up_proj_ = grouped("up_proj", options.hidden_size, options.intermediate_size);
  down_proj_ = grouped("down_proj", options.intermediate_size, options.hidden_size);
}

at::Tensor SwiGluExperts::forward(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts,
                                  at::Tensor* offsets) const {
  if (!gate_proj_->branch && !up_proj_->branch && !down_proj_->branch) {
    return kernels::moe_experts(rows, probs, experts, gate_proj_->weight, up_proj_->weight,
                                down_proj_->weight, offsets);
  }
  // Adapters are attached: the fused kernel's steps one by one, each product with its branch.
  const auto [sorted, ends, map] = kernels::moe_permute(rows, experts, gate_proj_->weight.size(0));
  if (offsets != nullptr) *offsets = ends;
  const at::Tensor inner =
      kernels::silu_mul(gate_proj_->forward(sorted, ends), up_proj_->forward(sorted, ends));
  return kernels::moe_unpermute(down_proj_->forward(inner, ends), probs, map);
}

std::vector<at::Tensor> SwiGluExperts::weights() const {
  return {gate_proj_->weight, up_proj_->weight, down_proj_->weight};
}

ClampedExperts::ClampedExperts(ParameterMaker& make, const MoeOptions& options)
    : clamp_(options.clamped.value()) {
  const auto grouped = [&](const char* name, std::int64_t in, std::int64_t out) {
    return make.child<GroupedLinear>(*this, name, options.num_experts, in, out, /*has_bias=*/true);
  };
  gate_up_proj_ = grouped("gate_up_proj", options.hidden_size, 2 * options.intermediate_size);
  down_proj_ = grouped("down_proj", options.intermediate_size, options.hidden_size);
}

at::Tensor ClampedExperts::forward(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts,
                                   at::Tensor* offsets) const {
  const auto [sorted, ends, map] = kernels::moe_permute(rows, experts, gate_up_proj_->weight.size(0));
  if (offsets != nullptr) *offsets = ends;
  const at::Tensor inner =
      kernels::clamped_swiglu(gate_up_proj_->forward(sorted, ends), clamp_.alpha, clamp_.limit);
  return kernels::moe_unpermute(down_proj_->forward(inner, ends), probs, map);
}

std::vector<at::Tensor> ClampedExperts::weights() const {
  return {gate_up_proj_->weight, gate_up_proj_->bias, down_proj_->weight, down_proj_->bias};
}

std::shared_ptr<Experts> make_experts(ParameterMaker& make, torch::nn::Module& owner,
                                      const MoeOptions& options) {
  if (options.clamped) return make.child<ClampedExperts>(owner, "experts", options);
  return make.child<SwiGluExperts>(owner, "experts", options);
}

}  // namespace d9d
