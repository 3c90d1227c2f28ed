// What the options of attention change, against the same computed by torch's ops in fp64.
#include "runtime/nn/attention/grouped_query_attention.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/attention/distance_bias.hpp"
#include "kernels/graph/weight_work.hpp"
#include "runtime/nn/attention/rotary.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

constexpr std::int64_t heads = 4, key_heads = 2, width = 6, hidden = 10, length = 7;

AttentionOptions attention_options() {
  return {.hidden_size = hidden,
          .num_heads = heads,
          .num_kv_heads = key_heads,
          .head_dim = width,
          .value_head_dim = width,
          .norm_eps = 1e-6};
}

struct MadeAttention {
  AttentionOptions options;
  ParameterMaker make{at::kDouble, at::kCPU, 0.5F};
  GroupedQueryAttention block;
  at::Tensor cos, sin;

  explicit MadeAttention(const AttentionOptions& given) : options(given), block(make, given) {
    draw_initial_weights(make.parameters(), 3);
    for (const StageParameter& parameter : make.parameters()) {
      if (parameter.name.ends_with("norm.weight")) parameter.tensor.detach().add_(values({width}, 8));
      if (parameter.name == "relative_attention_bias")
        parameter.tensor.detach().copy_(values(parameter.tensor.sizes(), 9));
    }
    RotaryTable table({.interleaved = given.interleaved}, given.turning_dim());
    std::tie(cos, sin) = table.at_positions(at::arange(length, at::kLong).view({1, length}));
  }
  at::Tensor weight(const std::string& name) const {
    for (const StageParameter& parameter : make.parameters()) {
      if (parameter.name == name) return parameter.tensor.detach();
    }
    return {};
  }

  at::Tensor normed(const at::Tensor& x, const std::string& name) const {
    if (!options.qk_norm) return x;
    const at::Tensor factor = weight(name + ".weight") + (options.zero_centered_norm ? 1 : 0);
    return x * (x.square().mean(-1, true) + 1e-6).rsqrt() * factor;
  }
  // Neighbours are the parts of a complex number, and the angle of pair i at position t is t * 10000^(-2i/turning).
  static at::Tensor turned_as_complex(const at::Tensor& x) {
    const std::int64_t pairs = x.size(-1) / 2;
    const at::Tensor speed =
        at::pow(10000.0, at::arange(pairs, at::kDouble).div(-static_cast<double>(pairs)));
    const at::Tensor angle = at::outer(at::arange(length, at::kDouble), speed).unsqueeze(1);
    const at::Tensor numbers = at::view_as_complex(x.contiguous().unflatten(-1, {pairs, 2}));
    return at::view_as_real(numbers * at::polar(at::ones_like(angle), angle)).flatten(-2);
  }
  // [heads, S, S], an element at a time.
  at::Tensor position_bias() const {
    const at::Tensor bias = at::zeros({heads, length, length}, at::kDouble);
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j < length; ++j) {
          if (options.position_bias == PositionBias::alibi)
            bias[head][i][j] = -std::pow(4.0, -head - 1.0) * static_cast<double>(std::abs(i - j));
          if (options.position_bias == PositionBias::buckets) {
            bias[head][i][j] = weight("relative_attention_bias")[kernels::distance_bucket(
                j - i, options.bias_buckets, options.bias_longest, !options.causal)][head];
          }
        }
      }
    }
    return bias;
  }
  // [B, S, heads, width]: the first dimensions turn.
  at::Tensor turned(const at::Tensor& x) const {
    if (!options.rotary) return x;
    const std::int64_t turning = options.turning_dim();
    const at::Tensor first = x.narrow(-1, 0, turning), rest = x.narrow(-1, turning, width - turning);
    if (options.interleaved) return at::cat({turned_as_complex(first), rest}, -1);
    const auto halves = first.chunk(2, -1);
    const at::Tensor half = at::cat({-halves[1], halves[0]}, -1);
    const auto by_head = [](const at::Tensor& table) { return table.to(at::kDouble).unsqueeze(1); };
    return at::cat({first * by_head(cos) + half * by_head(sin), rest}, -1);
  }
  at::Tensor reference(const at::Tensor& x) const {
    at::Tensor q = at::linear(x, weight("q_proj.weight")).unflatten(-1, {heads, -1}), gate;
    if (options.output_gate) {
      gate = q.narrow(-1, width, width);
      q = q.narrow(-1, 0, width);
    }
    const auto key = [&](const char* name) {
      return at::linear(x, weight(name)).unflatten(-1, {key_heads, -1});
    };
    const auto spread = [](const at::Tensor& y) {
      return y.repeat_interleave(heads / key_heads, 2).transpose(1, 2);
    };
    const at::Tensor turned_q = turned(normed(q, "q_norm")).transpose(1, 2);
    const at::Tensor k = spread(turned(normed(key("k_proj.weight"), "k_norm"))),
                     v = spread(key("v_proj.weight"));
    const at::Tensor later = at::ones({length, length}, at::kBool).triu(options.causal ? 1 : length);
    const at::Tensor scores =
        (turned_q.matmul(k.transpose(2, 3)) / std::sqrt(double{width}) + position_bias())
            .masked_fill(later, -INFINITY);
    const at::Tensor all =
        options.sinks
            ? at::cat({scores, weight("sinks").view({1, -1, 1, 1}).expand({scores.size(0), -1, length, 1})},
                      -1)
            : scores;
    at::Tensor mixed = all.softmax(-1).narrow(-1, 0, length).matmul(v).transpose(1, 2);
    if (options.output_gate) mixed = mixed * gate.sigmoid();
    return at::linear(mixed.flatten(2), weight("o_proj.weight"));
  }
};

void expect_reference(const AttentionOptions& options) {
  const MadeAttention made(options);
  const at::Tensor x = values({2, length, hidden}, 1);

  const at::Tensor y = made.block.forward(x, made.cos, made.sin);

  EXPECT_LT(relative_difference(y, made.reference(x)), 1e-6);  // the tables are fp32
}

TEST(GroupedQueryAttention, IsTorchsWithoutOptions) {
  expect_reference(attention_options());
}

TEST(GroupedQueryAttention, MultipliesWithTheGateBehindEachHeadsQuery) {
  AttentionOptions options = attention_options();
  options.output_gate = true;
  expect_reference(options);
}

TEST(GroupedQueryAttention, Mod10Mod32SeesBothSidesAndHasSinksByChoice) {
  AttentionOptions options = attention_options();
  options.sinks = true;
  expect_reference(options);
  options.causal = false;
  expect_reference(options);
}

TEST(GroupedQueryAttention, Mod32HasABiasOfPositionsWithRopeOrInItsPlace) {
  for (const PositionBias bias : {PositionBias::none, PositionBias::alibi, PositionBias::buckets}) {
    for (const bool rotary : {true, false}) {
      for (const bool causal : {true, false}) {
        AttentionOptions options = attention_options();
        options.position_bias = bias;
        options.rotary = rotary;
        options.causal = causal;
        options.qk_norm = options.sinks = bias != PositionBias::alibi;
        options.bias_buckets = 8;
        options.bias_longest = 5;
        expect_reference(options);
      }
    }
  }
}

TEST(GroupedQueryAttention, TurnsTheFirstDimensionsOnly) {
  AttentionOptions options = attention_options();
  options.rotary_dim = 4;
  expect_reference(options);
  options.rotary_dim = 2;
  expect_reference(options);
}

// MOD-36.
TEST(GroupedQueryAttention, TurnsNeighboursWhereItIsInterleaved) {
  AttentionOptions options = attention_options();
  options.interleaved = true;
  expect_reference(options);
  options.qk_norm = options.output_gate = true;
  options.rotary_dim = 4;
  expect_reference(options);
}

// The gradient of x, then those of the parameters, which are weight work. `side_by_side`: values lie in one buffer and
// gradients in another, as in a stage.
Tensors gradients_of(MadeAttention& made, bool side_by_side) {
  std::int64_t count = 0, begin = 0;
  for (const StageParameter& parameter : made.make.parameters()) count += parameter.tensor.numel();
  const at::Tensor data = at::empty({count}, at::kDouble), sums = at::zeros({count}, at::kDouble);
  for (const StageParameter& parameter : made.make.parameters()) {
    at::Tensor tensor = parameter.tensor;
    const auto part = [&](const at::Tensor& all) {
      return all.narrow(0, begin, tensor.numel()).view(tensor.sizes());
    };
    if (side_by_side) tensor.set_data(part(data).copy_(tensor.detach()));
    tensor.mutable_grad() = side_by_side ? part(sums) : at::zeros_like(tensor);
    begin += tensor.numel();
  }
  const at::Tensor x = values({2, length, hidden}, 1).requires_grad_();
  const kernels::WeightWork::Scope scope(c10::make_intrusive<kernels::WeightWork>());
  made.block.forward(x, made.cos, made.sin).backward(values({2, length, hidden}, 2));
  Tensors all{x.grad()};
  for (const StageParameter& parameter : made.make.parameters()) all.push_back(parameter.tensor.grad());
  return all;
}

TEST(GroupedQueryAttention, HasTheSameGradientsWhereItsWeightsLieSideBySide) {
  AttentionOptions plain = attention_options(), normed = plain, gated = plain, biased = plain, still = plain;
  normed.qk_norm = normed.sinks = true;
  gated.output_gate = gated.qk_norm = true;
  biased.qkv_bias = true;
  still.rotary = false;
  for (const AttentionOptions& options : {plain, normed, gated, biased, still}) {
    MadeAttention apart(options), side_by_side(options);
    const at::Tensor x = values({2, length, hidden}, 1).requires_grad_();
    apart.reference(x).backward(values({2, length, hidden}, 2));

    const Tensors expected = gradients_of(apart, false), given = gradients_of(side_by_side, true);

    EXPECT_LT(relative_difference(given[0], x.grad()), 1e-6);  // the tables are fp32
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_LT(relative_difference(given[i], expected[i]), 1e-12) << i;
  }
}

TEST(GroupedQueryAttention, NormsByOnePlusItsWeightWhereThatIsZeroCentred) {
  AttentionOptions options = attention_options();
  options.qk_norm = true;
  expect_reference(options);
  options.zero_centered_norm = true;
  expect_reference(options);
  const MadeAttention made(options);
  EXPECT_TRUE(at::equal(made.weight("q_norm.weight"), values({width}, 8)));  // it starts at zero
}

}  // namespace
}  // namespace d9d::test
