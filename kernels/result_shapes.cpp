#include "kernels/result_shapes.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/memory/chosen_rows.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

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
  using T = const at::Tensor&;
  table.matmul = [](T, T, T, double) {};
  table.add_scaled = [](T, T, T, double) {};
  table.silu_mul = [](T gate, T) { return like(gate, gate.sizes()); };
  table.silu_mul_backward = [](T, T gate, T up) {
    return SiluMulGradients{like(gate, gate.sizes()), like(up, up.sizes())};
  };
  table.gelu_mul = [](T gate, T) { return like(gate, gate.sizes()); };
  table.gelu_mul_backward = [](T, T gate, T up) {
    return SiluMulGradients{like(gate, gate.sizes()), like(up, up.sizes())};
  };
  table.gelu_erf_mul = table.gelu_mul;
  table.gelu_erf_mul_backward = table.gelu_mul_backward;
  table.rms_norm = [](T x, T residual, T, double, double) {
    return Normed{like(x, x.sizes()), residual.defined() ? like(x, x.sizes()) : at::Tensor(),
                  sums(x, {x.numel() / x.size(-1)})};
  };
  table.rms_norm_backward = [](T, T x, T weight, double, T, T, bool with_dweight) {
    return NormGradients{like(x, x.sizes()), with_dweight ? sums(x, weight.sizes()) : at::Tensor()};
  };
  table.layer_norm = [](T x, T residual, T, double) {
    return Normed{like(x, x.sizes()), residual.defined() ? like(x, x.sizes()) : at::Tensor(),
                  sums(x, {2, x.numel() / x.size(-1)})};
  };
  table.layer_norm_backward = [](T, T x, T weight, T, T, bool with_dweight) {
    return NormGradients{like(x, x.sizes()), with_dweight ? sums(x, weight.sizes()) : at::Tensor()};
  };
  table.embedding = [](T ids, T weight, int64_t, int64_t) {
    auto sizes = ids.sizes().vec();
    sizes.push_back(weight.size(1));
    return EmbeddedRows{like(weight, sizes), indices(ids, ids.sizes())};
  };
  table.embedding_dw = [](T, T, T, double) {};
}

void add_attention(OpTable& table) {
  using T = const at::Tensor&;
  table.rope = [](T x, T weight, double, double, const RopeAngles&, RopeStyle) {
    return RotatedHeads{like(x, x.sizes()), weight.defined() ? sums(x, x.sizes().slice(0, 3)) : at::Tensor()};
  };
  table.rope_backward = [](T, T dy, T, T weight, double, T, const RopeAngles&, RopeStyle) {
    return weight.defined() ? sums(dy, weight.sizes()) : at::Tensor();
  };
  table.attention_block = [](T q, T, T v, const AttentionMask&, double, at::ScalarType dtype,
                             const VisibleKeys&, const ScoreBias&) {
    return AttentionBlock{at::empty({q.size(0), q.size(1), q.size(2), v.size(3)},
                                    q.options().requires_grad(false).dtype(dtype)),
                          sums(q, {q.size(0), q.size(2), q.size(1)})};
  };
  table.attention_block_backward = [](T, T q, T k, T v, const AttentionBlock&, const AttentionMask&, double,
                                      at::ScalarType dtype, const VisibleKeys&, const ScoreBias& bias) {
    const auto in = [&](T x) { return at::empty(x.sizes(), x.options().requires_grad(false).dtype(dtype)); };
    return AttentionBlockGradients{in(q), in(k), in(v),
                                   bias.wants_gradient ? sums(q, bias.values.sizes()) : at::Tensor()};
  };
  table.merge_attention_block = [](const AttentionBlock&, const AttentionBlock&) {};
}

void add_cross_entropy(OpTable& table) {
  using T = const at::Tensor&;
  table.valid_tokens = [](T labels, int64_t, int64_t) {
    return ValidTokens{indices(labels, labels.sizes()), indices(labels, labels.sizes())};
  };
  table.cross_entropy = [](T logits, T, bool, T, T) { return like(logits, {logits.size(0)}); };
  table.vocabulary_statistics = [](T logits, T, int64_t) { return like(logits, {3, logits.size(0)}); };
  table.cross_entropy_online = [](T logits, T, int64_t, T) { return like(logits, {logits.size(0)}); };
  table.join_vocabulary = [](T, T, T) {};
  table.cross_entropy_of_part = [](T, T, int64_t, T, T) {};
}

void add_moe(OpTable& table) {
  using T = const at::Tensor&;
  table.moe_router = [](T logits, T, const RouterRule& rule) {
    const int64_t tokens = logits.size(0);
    return Routing{sums(logits, logits.sizes()), sums(logits, {tokens, rule.top_k}),
                   indices(logits, {tokens, rule.top_k})};
  };
  table.moe_router_backward = [](T, T scores, T, const RouterRule&) { return like(scores, scores.sizes()); };
  table.expert_order = [](T experts, int64_t num_experts) {
    return ExpertOrder{indices(experts, {num_experts + 1}), indices(experts, experts.sizes())};
  };
  table.choice_owners = [](T experts, int64_t) { return indices(experts, experts.sizes()); };
  table.spread_rows = [](T x, T, T, int64_t num_rows) { return like(x, {num_rows, x.size(1)}); };
  table.combine_rows = [](T rows, T map, T) { return like(rows, {map.size(0), rows.size(1)}); };
  table.row_dots = [](T y, T, T map) { return sums(y, map.sizes()); };
  table.grouped_product = [](T, T, T, T, bool) {};
  table.grouped_dw = [](T, T, T, T, double) {};
}

void add_experts(OpTable& table) {
  using T = const at::Tensor&;
  table.expert_rows = [](T experts, T probs, int64_t num_experts) {
    const int64_t rows = count_rows(experts, num_experts);
    return ExpertRows{indices(experts, {num_experts + 1}), indices(experts, experts.sizes()),
                      indices(experts, {rows}), sums(probs, {rows})};
  };
  table.expert_project = [](const ExpertFactor& x, T weight, const ExpertRows& rows) {
    return like(x.matrix, {rows.token.size(0), weight.size(1)});
  };
  table.expert_combine = [](T gate, T, T down, const ExpertRows&, int64_t tokens) {
    return like(gate, {tokens, down.size(1)});
  };
  table.expert_row_gradients = [](const ExpertFactor&, T gate, T, T, const ExpertRows& rows) {
    return ExpertRowGradients{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate),
                              at::empty_like(rows.scale)};
  };
  table.expert_dx = [](const ExpertRowGradients&, T gate, T, const ExpertRows&, int64_t tokens) {
    return like(gate, {tokens, gate.size(2)});
  };
  table.expert_dprobs = [](T dscale, const ExpertRows& rows) { return like(dscale, rows.map.sizes()); };
  table.expert_dw = [](T, const ExpertFactor&, const ExpertFactor&, const ExpertRows&, double) {};
}

void add_optimizer(OpTable& table) {
  using T = const at::Tensor&;
  table.adamw_step = [](T, T, T, T, const AdamWSettings&) {};
  table.stochastic_adamw_step = [](T, T, T, T, const AdamWSettings&, const RoundingNoise&) {};
  table.stochastic_copy = [](T, T, const RandomKey&, const BlockPlace&) {};
  table.quantize_blocks = [](T, int64_t, CodeBook, T, T) {};
  table.dequantize_blocks = [](T, T, int64_t, CodeBook, T) {};
  table.sum_of_squares = [](T x) {
    return at::empty({1}, x.options().requires_grad(false).dtype(at::kDouble));
  };
}

void add_cache(OpTable& table) {
  using T = const at::Tensor&;
  table.write_cache = [](T, T, const CacheStretches&) {};
  table.cached_attention = [](T q, T, T values, const CacheStretches&, int64_t, double) {
    return like(q, {q.size(0), q.size(1), values.size(3)});
  };
  table.delta_rule_steps = [](T, T, T v, T, T, T, const CacheStretches&, const DeltaRuleOptions&) {
    return like(v, v.sizes());
  };
}

void add_recurrent(OpTable& table) {
  using T = const at::Tensor&;
  table.short_convolution = [](const ConvolutionInputs& in, T) {
    ConvolutionParts y;
    for (const at::Tensor& x : in.x) y.of.push_back(like(x, x.sizes()));
    return y;
  };
  table.short_convolution_dx = [](const ConvolutionParts&, const ConvolutionInputs& in, T) {
    ConvolutionGradients result;
    for (const at::Tensor& x : in.x) {
      result.dx.push_back(like(x, x.sizes()));
      result.dsum.push_back(sums(x, x.sizes()));
    }
    return result;
  };
  table.short_convolution_dw = [](const ConvolutionParts&, const ConvolutionInputs&, T, double) {};
  table.delta_gates = [](T gates, T, T, double) {
    auto sizes = gates.sizes().vec();
    sizes.pop_back();
    sizes.back() *= gates.size(-1) / 2;
    return DeltaGates{sums(gates, sizes), sums(gates, sizes)};
  };
  table.delta_gates_backward = [](T, T, T gates, T, T log_rate, T bias, double) {
    const auto of = [&](T parameter) {
      return parameter.defined() ? sums(gates, parameter.sizes()) : at::Tensor();
    };
    return DeltaGateGradients{like(gates, gates.sizes()), of(log_rate), of(bias)};
  };
  table.delta_rule = [](T, T, T v, T, T, const DeltaRuleOptions&) { return like(v, v.sizes()); };
  table.delta_rule_backward = [](T, T q, T k, T v, T decay, T beta, const DeltaRuleOptions&) {
    return DeltaRuleGradients{like(q, q.sizes()), like(k, k.sizes()), like(v, v.sizes()),
                              sums(v, decay.sizes()), sums(v, beta.sizes())};
  };
}

void add_memory(OpTable& table) {
  using T = const at::Tensor&;
  table.copy_pieces = [](T, T, const CopiedPieces&) {};
}

OpTable make_shapes() {
  OpTable table;
  for (const auto add : {add_dense, add_attention, add_cross_entropy, add_moe, add_experts, add_optimizer,
                         add_cache, add_recurrent, add_memory}) {
    add(table);
  }
  return table;
}

}  // namespace

const OpTable& result_shapes() {
  static const OpTable table = make_shapes();
  return table;
}

}  // namespace d9d::kernels
