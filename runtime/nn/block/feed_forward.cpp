#include "runtime/nn/block/feed_forward.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/square.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "kernels/activation.hpp"
#include "kernels/moe.hpp"
#include "kernels/moe/choice_counts.hpp"
#include "runtime/nn/shard/token_dispatch.hpp"

namespace d9d {
namespace {

using GatedMul = at::Tensor (*)(const at::Tensor& gate, const at::Tensor& up);

GatedMul gated_mul_of(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return kernels::silu_mul;
    case Activation::gelu:
      return kernels::gelu_mul;
    case Activation::gelu_erf:
      break;
  }
  return kernels::gelu_erf_mul;
}

// How often each expert was chosen, int64 [E] each. Not by bincount, which waits for the device.
struct ChoiceCounts {
  at::Tensor of_all;      // tokens; undefined where nobody needs it
  at::Tensor of_counted;  // tokens that count
};

// Of tokens some of which do not count: these choose among as many experts more, so that one count says both. The
// kernels of a GPU put up to 3072 in order (kernels/cuda/moe/permute.hpp).
constexpr std::int64_t experts_twice_max = 1536;
ChoiceCounts masked_choices(const at::Tensor& experts, std::int64_t num_experts, const at::Tensor& token_mask,
                            bool wants_all) {
  const at::Tensor left_out = at::logical_not(token_mask).reshape({-1, 1});
  if (!wants_all || num_experts > experts_twice_max)
    return {{},
            kernels::choice_counts(experts.masked_fill(left_out, num_experts), num_experts + 1)
                .narrow(0, 0, num_experts)};
  const at::Tensor both =
      kernels::choice_counts(at::add(experts, left_out, num_experts), 2 * num_experts).view({2, num_experts});
  return {both.sum(0), both[0]};
}

// Before tokens travel. On the CPU, where their plan needs no counts, a small model feels each call of torch.
ChoiceCounts choices_of(const at::Tensor& experts, std::int64_t num_experts, const at::Tensor& token_mask) {
  if (token_mask.defined()) return masked_choices(experts, num_experts, token_mask, !experts.is_cpu());
  if (!experts.is_cpu()) {
    const at::Tensor counts = kernels::choice_counts(experts, num_experts);
    return {counts, counts};
  }
  const at::Tensor ids = experts.contiguous(), counts = at::zeros({num_experts}, at::kLong);
  const auto* data = ids.const_data_ptr<std::int64_t>();
  auto* count = counts.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) ++count[data[i]];
  return {{}, counts};
}

kernels::RouterRule rule_of(const MoeOptions& options) {
  return {.top_k = options.top_k,
          .renormalise = options.renormalise,
          .sigmoid = options.sigmoid_scores,
          .groups = options.groups,
          .kept_groups = options.kept_groups,
          .scale = options.score_factor};
}

// Multiplies rows that do not count by 0 instead of selecting the others: only the device knows which they
// are, and a selection would have to wait for it.
at::Tensor sums_of(const at::Tensor& logits, const at::Tensor& counted, const at::Tensor& token_mask) {
  const auto wide = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor choices = counted.to(wide);
  at::Tensor squares = at::square(at::logsumexp(logits.to(wide), -1));
  at::Tensor probabilities = at::softmax(logits, -1, wide);
  if (token_mask.defined()) {
    const at::Tensor counts = token_mask.reshape({-1}).to(wide);
    squares = at::mul(squares, counts);
    probabilities = at::mul(probabilities, counts.unsqueeze(-1));
  }
  const at::Tensor shares = at::div(squares.sum(), logits.size(1)).expand_as(choices);
  return at::stack({choices, probabilities.sum(0), shares});
}

}  // namespace

SwiGlu::SwiGlu(ParameterMaker& make, const SwiGluOptions& options) : activation_(options.activation) {
  const std::int64_t hidden = options.hidden_size, inner = options.intermediate_size;
  gate_proj_ = make.child<Linear>(*this, "gate_proj", hidden, inner);
  up_proj_ = make.child<Linear>(*this, "up_proj", hidden, inner);
  if (options.bias) {
    gate_proj_->add_bias(make, "gate_proj");
    up_proj_->add_bias(make, "up_proj");
  }
  down_proj_ = make.child<Linear>(*this, "down_proj", inner, hidden);
  if (options.bias) down_proj_->add_bias(make, "down_proj");
}

void SwiGlu::shard(TensorParallel& tensor, const ActivationShards& tokens) {
  require_divisible_width(gate_proj_->weight.size(0), tensor.size());
  tensor.column(gate_proj_->weight, gate_proj_->bias);
  tensor.column(up_proj_->weight, up_proj_->bias);
  tensor.row(down_proj_->weight);
  tokens_ = tokens;
}

at::Tensor SwiGlu::forward(const at::Tensor& x, bool /*recompute*/, const at::Tensor& /*token_mask*/) {
  const at::Tensor all = tokens_.gather(x);
  const auto inner = linear_multi(all, {*gate_proj_, *up_proj_});
  return down_proj_->forward_shared(gated_mul_of(activation_)(inner[0], inner[1]), tokens_);
}

MixtureOfExperts::MixtureOfExperts(ParameterMaker& make, const MoeOptions& options) : options_(options) {
  gate_ = make.child<Linear>(*this, "gate", options.hidden_size, options.num_experts);
  if (options.clamped) gate_->add_bias(make, "gate");
  if (options.selection_bias) {
    selection_bias_ = make.within(
        "gate", [&] { return make.buffer(*gate_, "e_score_correction_bias", {options.num_experts}); });
  }
  experts_ = make_experts(make, *this, options);
  if (options.shared_intermediate_size > 0) {
    shared_expert_ = make.child<SwiGlu>(*this, options.shared_gate ? "shared_expert" : "shared_experts",
                                        SwiGluOptions{options.hidden_size, options.shared_intermediate_size});
    if (options.shared_gate)
      shared_expert_gate_ = make.child<Linear>(*this, "shared_expert_gate", options.hidden_size, 1);
  }
  expert_tokens_ = at::zeros({options.num_experts}, at::kLong);
}

void MixtureOfExperts::shard(TensorParallel& tensor, const ActivationShards& tokens) {
  if (shared_expert_) shared_expert_->shard(tensor, tokens);
}

at::Tensor MixtureOfExperts::forward(const at::Tensor& x, bool recompute, const at::Tensor& token_mask) {
  const at::Tensor rows = x.reshape({-1, options_.hidden_size});
  const at::Tensor logits = gate_->forward(rows);
  const auto [probs, experts] = kernels::moe_router(logits, rule_of(options_), selection_bias_);
  const bool counts = is_training() && (options_.router_sums || !recompute);
  at::Tensor all, shared;
  if (!group_) {
    at::Tensor offsets;
    all = experts_->forward(rows, probs, experts, &offsets);
    // What puts the choices in order has counted them.
    if (counts)
      add_choices(logits,
                  token_mask.defined()
                      ? masked_choices(experts, options_.num_experts, token_mask, false).of_counted
                      : kernels::counts_of_offsets(offsets),
                  recompute, token_mask);
    shared = shared_part(x, recompute);
  } else {
    const ChoiceCounts chosen =
        counts ? choices_of(experts, options_.num_experts, token_mask) : ChoiceCounts();
    if (counts) add_choices(logits, chosen.of_counted, recompute, token_mask);
    TokenPlan plan = plan_tokens(experts, options_.num_experts, group_, chosen.of_all);
    shared = shared_part(
        x, recompute);  // Before the host waits for the plan, so that a device has work meanwhile.
    const DispatchedTokens here = dispatch_tokens(rows, probs, std::move(plan), group_);
    all = return_tokens(experts_->forward(here.x, here.probs, here.experts, nullptr), here.route, group_);
  }
  all = all.view(x.sizes());
  return shared.defined() ? at::add(all, shared) : all;
}

at::Tensor MixtureOfExperts::shared_part(const at::Tensor& x, bool recompute) {
  if (!shared_expert_) return {};
  if (!shared_expert_gate_) return shared_expert_->forward(x, recompute);
  const at::Tensor share = at::sigmoid(shared_expert_gate_->forward(x));
  return at::mul(shared_expert_->forward(x, recompute), share);
}

void MixtureOfExperts::add_choices(const at::Tensor& logits, const at::Tensor& counts, bool recompute,
                                   const at::Tensor& token_mask) {
  if (options_.router_sums) router_sums_ = sums_of(logits, counts, token_mask);
  if (!recompute) expert_tokens_ = expert_tokens_.to(counts.device(), /*non_blocking=*/true).add_(counts);
}

// Compares counts as integers, so that no rounding decides and all ranks move the bias alike.
void MixtureOfExperts::balance(const at::Tensor& tokens) {
  const c10::NoGradGuard no_grad;
  const at::Tensor missing = at::sub(tokens.sum(), at::mul(tokens, options_.num_experts));
  selection_bias_.add_(at::sign(missing).to(selection_bias_.options()), options_.bias_rate);
}

void MixtureOfExperts::reset_expert_tokens() {
  expert_tokens_.zero_();
}

}  // namespace d9d
