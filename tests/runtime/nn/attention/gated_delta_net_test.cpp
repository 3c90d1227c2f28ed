#include "runtime/nn/attention/gated_delta_net.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

const DeltaNetOptions tiny_delta_net{.hidden_size = 10,
                                     .num_key_heads = 2,
                                     .num_value_heads = 6,
                                     .key_head_dim = 4,
                                     .value_head_dim = 3,
                                     .taps = 4,
                                     .norm_eps = 1e-6};

struct MadeDeltaNet {
  ParameterMaker make{at::kDouble, at::kCPU, 0.5F};
  GatedDeltaNet block;

  explicit MadeDeltaNet(const DeltaNetOptions& options = tiny_delta_net) : block(make, options) {
    draw_initial_weights(make.parameters(), 3);
  }
  at::Tensor operator()(const at::Tensor& x) const { return block.forward(x, {}, {}); }
  at::Tensor weight(const std::string& name) const {
    for (const StageParameter& parameter : make.parameters()) {
      if (parameter.name == name) return parameter.tensor.detach();
    }
    return {};
  }
};

// The block from its weights with torch's ops and the state token by token, heads as its comment lays them out.
at::Tensor reference_delta_net(const MadeDeltaNet& made, const at::Tensor& x) {
  const std::int64_t key_heads = 2, group = 3, dk = 4, dv = 3, heads = 6, keys = 8, values = 18,
                     length = x.size(1);
  const auto projected = [&](const char* name) {
    return at::linear(x, made.weight(name)).unflatten(-1, {key_heads, -1});
  };
  const auto qkvz = projected("in_proj_qkvz.weight").split_with_sizes({dk, dk, group * dv, group * dv}, -1);
  const auto ba = projected("in_proj_ba.weight").split_with_sizes({group, group}, -1);
  const at::Tensor joint =
      at::cat({qkvz[0].flatten(2), qkvz[1].flatten(2), qkvz[2].flatten(2)}, -1).transpose(1, 2);
  const at::Tensor sums = at::conv1d(joint, made.weight("conv1d.weight"), {}, 1, 3, 1, joint.size(1));
  const auto convolved =
      at::silu(sums.narrow(2, 0, length)).transpose(1, 2).split_with_sizes({keys, keys, values}, -1);
  const auto unit = [&](const at::Tensor& y) {
    const at::Tensor all = y.unflatten(-1, {key_heads, dk});
    return (all * (all.square().sum(-1, true) + 1e-6).rsqrt()).repeat_interleave(group, 2);
  };
  const at::Tensor q = unit(convolved[0]) / 2, k = unit(convolved[1]);  // 2 is the root of dk
  const at::Tensor v = convolved[2].unflatten(-1, {heads, dv});
  const at::Tensor a = ba[1].flatten(2), rate = made.weight("A_log");
  const at::Tensor kept = rate.defined() ? (rate.exp().neg() * at::softplus(a + made.weight("dt_bias"))).exp()
                                         : a.sigmoid().pow(1.0 / 16);  // exp(logsigmoid(a) / 16)
  const at::Tensor beta = ba[0].flatten(2).sigmoid();
  at::Tensor state = at::zeros({x.size(0), heads, dk, dv}, at::kDouble);
  std::vector<at::Tensor> out;
  for (std::int64_t t = 0; t < length; ++t) {
    const at::Tensor key = k.select(1, t).unsqueeze(-1);
    state = state * kept.select(1, t).unsqueeze(-1).unsqueeze(-1);
    const at::Tensor change = (v.select(1, t) - (state * key).sum(-2)) * beta.select(1, t).unsqueeze(-1);
    state = state + key * change.unsqueeze(-2);
    out.push_back((state * q.select(1, t).unsqueeze(-1)).sum(-2));
  }
  const at::Tensor mixed = at::stack(out, 1);
  const at::Tensor normed =
      mixed * (mixed.square().mean(-1, true) + 1e-6).rsqrt() * made.weight("norm.weight");
  const at::Tensor gated = normed * at::silu(qkvz[3].flatten(2).unflatten(-1, {heads, dv}));
  return at::linear(gated.flatten(2), made.weight("out_proj.weight"));
}

TEST(GatedDeltaNet, IsTheRecurrence) {
  const MadeDeltaNet made;
  const at::Tensor x = values({2, 70, 10}, 1);

  EXPECT_LT(relative_difference(made(x), reference_delta_net(made, x)), 1e-10);
}

// MOD-25.
TEST(GatedDeltaNet, KeepsBySigmoidsWithoutParametersOfItsGate) {
  DeltaNetOptions options = tiny_delta_net;
  options.gate = DecayGate::logsigmoid;
  const MadeDeltaNet made(options), other;
  const at::Tensor x = values({2, 70, 10}, 1).requires_grad_();

  const at::Tensor y = made(x);

  EXPECT_EQ(made.make.parameters().size() + 2, other.make.parameters().size());
  EXPECT_LT(relative_difference(y, reference_delta_net(made, x)), 1e-10);
  std::int64_t built = 0;
  for (const StageParameter& parameter : made.make.parameters()) built += parameter.tensor.numel();
  EXPECT_EQ(delta_net_costs(options).parameters, built);
}

TEST(GatedDeltaNet, IsCausal) {
  const MadeDeltaNet made;
  const at::Tensor x = values({1, 90, 10}, 1);
  at::Tensor changed = x.clone();
  changed.select(1, 70).add_(1);

  const at::Tensor difference = (made(changed) - made(x)).detach().abs().amax({0, 2});

  EXPECT_EQ(difference.narrow(0, 0, 70).max().item<double>(), 0);
  EXPECT_GT(difference.narrow(0, 70, 20).min().item<double>(), 1e-9);
}

TEST(GatedDeltaNet, BeginsEachSequenceWithoutAState) {
  const MadeDeltaNet made;
  const at::Tensor x = values({2, 30, 10}, 1);

  EXPECT_LT(relative_difference(made(x.narrow(0, 1, 1)), made(x).narrow(0, 1, 1)), 1e-12);
}

TEST(GatedDeltaNet, BeginsEachDocumentOfARowWithoutAState) {
  const MadeDeltaNet made;
  const at::Tensor x = values({2, 30, 10}, 1), starts = at::zeros({2, 30}, at::kLong);
  starts[1].narrow(0, 2, 25).fill_(2);
  starts[1].narrow(0, 27, 3).fill_(27);

  const at::Tensor packed = made.block.forward(x, {}, {}, starts);

  EXPECT_LT(relative_difference(packed[0], made(x)[0]), 1e-12);
  for (const auto& [first, count] : {std::pair{0, 2}, {2, 25}, {27, 3}}) {
    const at::Tensor alone = made(x.narrow(0, 1, 1).narrow(1, first, count));
    EXPECT_LT(relative_difference(packed.narrow(0, 1, 1).narrow(1, first, count), alone), 1e-12) << first;
  }
}

TEST(GatedDeltaNet, StartsWithDecaysThatDiffer) {
  const at::Tensor rates = MadeDeltaNet().weight("A_log").exp();

  EXPECT_GE(rates.min().item<double>(), 0.01 * (1 - 1e-5));
  EXPECT_LT(rates.max().item<double>(), 16 * (1 + 1e-5));
  EXPECT_GT(rates.std().item<double>(), 1);
}

TEST(GatedDeltaNet, RefusesToShareSequences) {
  MadeDeltaNet made;
  EXPECT_THROW(made.block.set_core(std::make_shared<LocalAttention>()), Error);
}

}  // namespace
}  // namespace d9d::test
