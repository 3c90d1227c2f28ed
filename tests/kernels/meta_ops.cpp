#include "tests/kernels/meta_ops.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;
using kernels::sum_dtype;

std::vector<std::string>& names() {
  thread_local std::vector<std::string> of_thread;
  return of_thread;
}

void note(const char* name) {
  names().push_back(name);
}

at::Tensor like(const at::Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().requires_grad(false));
}
at::Tensor sums(const at::Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().requires_grad(false).dtype(sum_dtype(x.scalar_type())));
}
at::Tensor indices(const at::Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().requires_grad(false).dtype(at::kLong));
}

void add_dense(OpTable& table) {
  using kernels::Normed;
  using T = const at::Tensor&;
  table.matmul = [](T, T, T, double) { note("matmul"); };
  table.silu_mul = [](T gate, T) {
    note("silu_mul");
    return like(gate, gate.sizes());
  };
  table.silu_mul_backward = [](T, T gate, T up) {
    note("silu_mul_backward");
    return kernels::SiluMulGradients{like(gate, gate.sizes()), like(up, up.sizes())};
  };
  table.gelu_mul = [](T gate, T) {
    note("gelu_mul");
    return like(gate, gate.sizes());
  };
  table.gelu_mul_backward = [](T, T gate, T up) {
    note("gelu_mul_backward");
    return kernels::SiluMulGradients{like(gate, gate.sizes()), like(up, up.sizes())};
  };
  table.rms_norm = [](T x, T residual, T, double, double) {
    note("rms_norm");
    return Normed{like(x, x.sizes()), residual.defined() ? like(x, x.sizes()) : at::Tensor(),
                  sums(x, {x.numel() / x.size(-1)})};
  };
  table.rms_norm_dx = [](T, T x, T, double, T, T) {
    note("rms_norm_dx");
    return like(x, x.sizes());
  };
  table.rms_norm_dw = [](T, T, T, T, double) { note("rms_norm_dw"); };
  table.embedding = [](T ids, T weight, int64_t, int64_t) {
    note("embedding");
    auto sizes = ids.sizes().vec();
    sizes.push_back(weight.size(1));
    return kernels::EmbeddedRows{like(weight, sizes), indices(ids, ids.sizes())};
  };
  table.embedding_dw = [](T, T, T, double) { note("embedding_dw"); };
}

void add_attention(OpTable& table) {
  using namespace kernels;
  using T = const at::Tensor&;
  table.rope = [](T x, T weight, double, double, const RopeAngles&, RopeStyle) {
    note("rope");
    return RotatedHeads{like(x, x.sizes()), weight.defined() ? sums(x, x.sizes().slice(0, 3)) : at::Tensor()};
  };
  table.rope_backward = [](T dy, T, T weight, double, T, const RopeAngles&, RopeStyle) {
    note("rope_backward");
    return RopeGradients{like(dy, dy.sizes()), weight.defined() ? sums(dy, weight.sizes()) : at::Tensor()};
  };
  table.attention_block = [](T q, T, T v, const AttentionMask&, double, at::ScalarType dtype, T) {
    note("attention_block");
    return AttentionBlock{like(q, {q.size(0), q.size(1), q.size(2), v.size(3)}).to(dtype),
                          sums(q, {q.size(0), q.size(2), q.size(1)})};
  };
  table.attention_block_backward = [](T, T q, T k, T v, const AttentionBlock&, const AttentionMask&, double,
                                      at::ScalarType, T) {
    note("attention_block_backward");
    return AttentionBlockGradients{like(q, q.sizes()), like(k, k.sizes()), like(v, v.sizes())};
  };
  table.merge_attention_block = [](const AttentionBlock&, const AttentionBlock&) {
    note("merge_attention_block");
  };
}

void add_cross_entropy(OpTable& table) {
  using T = const at::Tensor&;
  table.valid_tokens = [](T labels, int64_t, int64_t) {
    note("valid_tokens");
    return kernels::ValidTokens{indices(labels, labels.sizes()), indices(labels, labels.sizes())};
  };
  table.cross_entropy = [](T logits, T, bool, T) {
    note("cross_entropy");
    return like(logits, {logits.size(0)});
  };
  table.vocabulary_statistics = [](T logits, T, int64_t) {
    note("vocabulary_statistics");
    return like(logits, {3, logits.size(0)});
  };
  table.join_vocabulary = [](T, T, T) { note("join_vocabulary"); };
  table.cross_entropy_of_part = [](T, T, int64_t, T) { note("cross_entropy_of_part"); };
  table.cross_entropy_online = [](T logits, T, int64_t, T) {
    note("cross_entropy_online");
    return like(logits, {logits.size(0)});
  };
  table.uniform_value = [](T) -> std::optional<double> {
    note("uniform_value");
    return std::nullopt;
  };
}

void add_moe(OpTable& table) {
  using namespace kernels;
  using T = const at::Tensor&;
  table.moe_router = [](T logits, T, const RouterRule& rule) {
    note("moe_router");
    const int64_t tokens = logits.size(0);
    return Routing{sums(logits, logits.sizes()), sums(logits, {tokens, rule.top_k}),
                   indices(logits, {tokens, rule.top_k})};
  };
  table.moe_router_backward = [](T, T scores, T, const RouterRule&) {
    note("moe_router_backward");
    return like(scores, scores.sizes());
  };
  table.expert_order = [](T experts, int64_t num_experts) {
    note("expert_order");
    return ExpertOrder{indices(experts, {num_experts + 1}), indices(experts, experts.sizes()),
                       experts.numel()};
  };
  table.spread_rows = [](T x, T, T, int64_t num_rows) {
    note("spread_rows");
    return like(x, {num_rows, x.size(1)});
  };
  table.combine_rows = [](T rows, T map, T) {
    note("combine_rows");
    return like(rows, {map.size(0), rows.size(1)});
  };
  table.row_dots = [](T y, T, T map) {
    note("row_dots");
    return sums(y, map.sizes());
  };
  table.grouped_product = [](T, T, T, T, bool) { note("grouped_product"); };
  table.grouped_dw = [](T, T, T, T, double) { note("grouped_dw"); };
}

void add_experts(OpTable& table) {
  using namespace kernels;
  using T = const at::Tensor&;
  table.expert_rows = [](T experts, T probs, int64_t num_experts) {
    note("expert_rows");
    return ExpertRows{indices(experts, {num_experts + 1}), indices(experts, experts.sizes()),
                      indices(experts, {experts.numel()}), sums(probs, {experts.numel()})};
  };
  table.expert_project = [](T x, T weight, const ExpertRows& rows) {
    note("expert_project");
    return like(x, {rows.token.size(0), weight.size(1)});
  };
  table.expert_combine = [](T gate, T, T down, const ExpertRows&, int64_t tokens) {
    note("expert_combine");
    return like(gate, {tokens, down.size(1)});
  };
  table.expert_row_gradients = [](T, T gate, T, T, const ExpertRows& rows) {
    note("expert_row_gradients");
    return ExpertRowGradients{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate),
                              at::empty_like(rows.scale)};
  };
  table.expert_dx = [](const ExpertRowGradients&, T gate, T, const ExpertRows&, int64_t tokens) {
    note("expert_dx");
    return like(gate, {tokens, gate.size(2)});
  };
  table.expert_dprobs = [](T dscale, const ExpertRows& rows) {
    note("expert_dprobs");
    return like(dscale, rows.map.sizes());
  };
  table.expert_dw = [](T, const ExpertFactor&, const ExpertFactor&, const ExpertRows&, double) {
    note("expert_dw");
  };
}

void add_optimizer(OpTable& table) {
  using T = const at::Tensor&;
  table.adamw_step = [](T, T, T, T, const kernels::AdamWSettings&) { note("adamw_step"); };
  table.sum_of_squares = [](T) {
    note("sum_of_squares");
    return 0.0;
  };
}

void add_recurrent(OpTable& table) {
  using namespace kernels;
  using T = const at::Tensor&;
  table.short_convolution = [](T x, T, int64_t) {
    note("short_convolution");
    return like(x, x.sizes());
  };
  table.short_convolution_dx = [](T, T x, T, int64_t) {
    note("short_convolution_dx");
    return ConvolutionGradient{like(x, x.sizes()), sums(x, x.sizes())};
  };
  table.short_convolution_dw = [](T, T, T, int64_t, double) { note("short_convolution_dw"); };
  table.decay_gate = [](T a, T, T) {
    note("decay_gate");
    return sums(a, a.sizes());
  };
  table.decay_gate_backward = [](T, T a, T log_rate, T bias) {
    note("decay_gate_backward");
    return DecayGradients{like(a, a.sizes()), sums(a, log_rate.sizes()), sums(a, bias.sizes())};
  };
  table.delta_rule = [](T, T, T v, T, T, const DeltaRuleOptions&) {
    note("delta_rule");
    return like(v, v.sizes());
  };
  table.delta_rule_backward = [](T, T q, T k, T v, T decay, T beta, const DeltaRuleOptions&) {
    note("delta_rule_backward");
    return DeltaRuleGradients{like(q, q.sizes()), like(k, k.sizes()), like(v, v.sizes()),
                              sums(v, decay.sizes()), sums(v, beta.sizes())};
  };
}

// Torch itself has it for `meta` in Python only.
at::Tensor index_select(const at::Tensor& x, int64_t dim, const at::Tensor& index) {
  auto sizes = x.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = index.size(0);
  return like(x, sizes);
}

}  // namespace

struct MetaOps::TorchOps {
  torch::Library library{torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__};
};

MetaOps::MetaOps() : torch_ops_(std::make_unique<TorchOps>()) {
  torch_ops_->library.impl("index_select", index_select);
  for (const auto add :
       {add_dense, add_attention, add_cross_entropy, add_moe, add_experts, add_optimizer, add_recurrent})
    add(table_);
  names().clear();
  kernels::register_ops(at::kMeta, &table_);
}

MetaOps::~MetaOps() {
  kernels::register_ops(at::kMeta, nullptr);
}

std::vector<std::string> MetaOps::take_names() {
  return std::exchange(names(), {});
}

}  // namespace d9d::test
