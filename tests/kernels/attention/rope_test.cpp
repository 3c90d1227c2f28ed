#include "kernels/attention/rope.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "kernels/rows.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::RopeStyle;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

at::Tensor turned(const at::Tensor& x, RopeStyle style) {
  const auto half = x.size(-1) / 2;
  if (style == RopeStyle::half) return at::cat({-x.narrow(-1, half, half), x.narrow(-1, 0, half)}, -1);
  const auto pairs = x.unflatten(-1, {half, 2});
  return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
}

at::Tensor reference_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                          RopeStyle style) {
  const auto rotary = cos.size(-1);
  const auto part = x.narrow(-1, 0, rotary);
  const auto rotated = part * cos.unsqueeze(-2) + turned(part, style) * sin.unsqueeze(-2);
  return at::cat({rotated, x.narrow(-1, rotary, x.size(-1) - rotary)}, -1);
}

at::Tensor reference_norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * (x.pow(2).mean(-1, true) + 1e-6).rsqrt() * weight;
}

Tensors pair(std::tuple<at::Tensor, at::Tensor> both) {
  return {std::get<0>(both), std::get<1>(both)};
}

struct Angles {
  at::Tensor cos, sin;
};

Angles angles(at::IntArrayRef sizes, RopeStyle style) {
  auto half_sizes = sizes.vec();
  half_sizes.back() /= 2;
  const auto angle = values(half_sizes, 9) * 3;
  const auto both = style == RopeStyle::half ? at::cat({angle, angle}, -1) : angle.repeat_interleave(2, -1);
  return {both.cos().to(at::kFloat), both.sin().to(at::kFloat)};
}

void expect_rope(at::IntArrayRef angle_sizes, RopeStyle style) {
  const auto [cos, sin] = angles(angle_sizes, style);
  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) { return pair(d9d::kernels::rope(in[0], in[1], cos, sin, style)); },
      [&](const Tensors& in) -> Tensors {
        return {reference_rope(in[0], cos, sin, style), reference_rope(in[1], cos, sin, style)};
      },
      {values({2, 5, 3, 12}, 1), values({2, 5, 1, 12}, 2)});
}

}  // namespace

TEST(Rope, RotatesHalvesAndPairs) {
  for (const auto style : {RopeStyle::half, RopeStyle::interleaved}) {
    expect_rope({5, 12}, style);
    expect_rope({2, 5, 12}, style);
  }
}

TEST(Rope, LeavesTheRestOfAPartlyRotatedHead) {
  expect_rope({5, 8}, RopeStyle::half);
  expect_rope({5, 8}, RopeStyle::interleaved);
}

TEST(Rope, NormsQueriesAndKeysFirst) {
  for (const auto style : {RopeStyle::half, RopeStyle::interleaved}) {
    const auto [cos, sin] = angles({5, 12}, style);
    d9d::test::expect_matches_in_every_dtype(
        [&, style](const Tensors& in) {
          return pair(d9d::kernels::qk_norm_rope(in[0], in[1], in[2], in[3], 1e-6, cos, sin, style));
        },
        [&, style](const Tensors& in) -> Tensors {
          return {reference_rope(reference_norm(in[0], in[2]), cos, sin, style),
                  reference_rope(reference_norm(in[1], in[3]), cos, sin, style)};
        },
        {values({2, 5, 3, 12}, 1), values({2, 5, 1, 12}, 2), values({12}, 3), values({12}, 4)});
  }
}

TEST(Rope, NormsByOnePlusTheWeightAndTurnsAPartOfTheHead) {
  const auto [cos, sin] = angles({5, 4}, RopeStyle::half);
  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) {
        return pair(d9d::kernels::qk_norm_rope(in[0], in[1], in[2], in[3], 1e-6, cos, sin, RopeStyle::half,
                                               /*zero_centered=*/true));
      },
      [&](const Tensors& in) -> Tensors {
        return {reference_rope(reference_norm(in[0], in[2] + 1), cos, sin, RopeStyle::half),
                reference_rope(reference_norm(in[1], in[3] + 1), cos, sin, RopeStyle::half)};
      },
      {values({2, 5, 3, 12}, 1), values({2, 5, 1, 12}, 2), values({12}, 3), values({12}, 4)});
}

TEST(Rope, TakesHeadsThatAreViewsOfAJointProjection) {
  const auto [cos, sin] = angles({2, 7, 32}, RopeStyle::half);
  const auto joint = values({2, 7, 5 * 32}, 1);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) {
        return pair(d9d::kernels::qk_norm_rope(in[0].view({2, 7, 3, 32}), in[1].view({2, 7, 2, 32}), in[2],
                                               in[3], 1e-6, cos, sin));
      },
      [&](const Tensors& in) -> Tensors {
        return {reference_rope(reference_norm(in[0].view({2, 7, 3, 32}), in[2]), cos, sin, RopeStyle::half),
                reference_rope(reference_norm(in[1].view({2, 7, 2, 32}), in[3]), cos, sin, RopeStyle::half)};
      },
      {joint.narrow(2, 0, 96), joint.narrow(2, 96, 64), values({32}, 3), values({32}, 4)});
}

namespace {

// Columns of one projection, of 3 heads of queries, 2 of keys, and 2 of narrower values.
d9d::kernels::ProjectedHeads heads_of(const at::Tensor& joint) {
  return {joint.narrow(2, 0, 36).unflatten(-1, {3, 12}), joint.narrow(2, 36, 24).unflatten(-1, {2, 12}),
          joint.narrow(2, 60, 16).unflatten(-1, {2, 8})};
}
Tensors tensors_of(const d9d::kernels::ProjectedHeads& heads) {
  return {heads.q, heads.k, heads.v};
}

}  // namespace

TEST(Rope, HandsOnTheValuesOfAJointProjection) {
  const auto [cos, sin] = angles({7, 8}, RopeStyle::half);
  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) { return tensors_of(d9d::kernels::rope(heads_of(in[0]), cos, sin)); },
      [&](const Tensors& in) -> Tensors {
        const auto [q, k, v] = heads_of(in[0]);
        return {reference_rope(q, cos, sin, RopeStyle::half), reference_rope(k, cos, sin, RopeStyle::half),
                v};
      },
      {values({2, 7, 76}, 1)});
  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) {
        return tensors_of(d9d::kernels::qk_norm_rope(heads_of(in[0]), in[1], in[2], 1e-6, cos, sin));
      },
      [&](const Tensors& in) -> Tensors {
        const auto [q, k, v] = heads_of(in[0]);
        return {reference_rope(reference_norm(q, in[1]), cos, sin, RopeStyle::half),
                reference_rope(reference_norm(k, in[2]), cos, sin, RopeStyle::half), v};
      },
      {values({2, 7, 76}, 1), values({12}, 3), values({12}, 4)});
}

namespace {

// The gradients of q, k and v, in this order, and of the norms. `results`: whose gradients are given.
Tensors gradients(const d9d::kernels::ProjectedHeads& heads, at::IntArrayRef results) {
  const auto [cos, sin] = angles({2, 7, 12}, RopeStyle::half);
  const auto weight = [&](int seed) { return values({12}, seed, heads.q.scalar_type()).requires_grad_(); };
  const Tensors weights{weight(5), weight(6)};
  const Tensors turned =
      tensors_of(d9d::kernels::qk_norm_rope(heads, weights[0], weights[1], 1e-6, cos, sin));
  Tensors given, ups;
  for (const int64_t i : results) {
    given.push_back(turned[i]);
    ups.push_back(values(turned[i].sizes(), 7 + i, turned[i].scalar_type()));
  }
  const Tensors leaves{heads.q, heads.k, heads.v, weights[0], weights[1]};
  return torch::autograd::grad(given, leaves, ups, {}, false, /*allow_unused=*/true);
}

d9d::kernels::ProjectedHeads leaves_of(const d9d::kernels::ProjectedHeads& heads, bool copies = false) {
  const auto leaf = [&](const at::Tensor& x) {
    return (copies ? x.contiguous() : x).detach().requires_grad_();
  };
  return {leaf(heads.q), leaf(heads.k), leaf(heads.v)};
}

}  // namespace

TEST(Rope, HasGradientsSideBySideWhereQueriesKeysAndValuesAreSo) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto heads = heads_of(values({2, 7, 76}, 1, dtype));

    const Tensors joint = gradients(leaves_of(heads), {0, 1, 2});
    const Tensors apart = gradients(leaves_of(heads, /*copies=*/true), {0, 1, 2});

    const auto rows = [](const at::Tensor& x) { return x.view({14, -1}); };
    EXPECT_TRUE(d9d::kernels::joined_columns({rows(joint[0]), rows(joint[1]), rows(joint[2])}).defined());
    EXPECT_FALSE(apart[0].storage().is_alias_of(apart[1].storage()));
    for (std::size_t i = 0; i < joint.size(); ++i) EXPECT_TRUE(joint[i].equal(apart[i])) << i;
  }
}

TEST(Rope, HasTheGradientsThatAreWantedAlone) {
  const auto heads = heads_of(values({2, 7, 76}, 1));
  const Tensors all = gradients(leaves_of(heads), {0, 1, 2});

  const Tensors of_v = gradients(leaves_of(heads), {2}), of_q = gradients(leaves_of(heads), {0});

  EXPECT_TRUE(of_v[2].equal(all[2]));
  EXPECT_FALSE(of_v[0].defined());
  EXPECT_TRUE(of_q[0].equal(all[0]));
  EXPECT_TRUE(of_q[3].equal(all[3]));
  EXPECT_FALSE(of_q[2].defined());
}

// A gate behind each head's query; one key head of two; values in memory of their own.
TEST(Rope, TakesQueriesKeysAndValuesThatAreNotSideBySide) {
  const auto joint = values({2, 7, 2 * 36 + 24 + 16}, 1);
  const auto gated = joint.narrow(2, 0, 72).unflatten(-1, {3, 24}).narrow(3, 0, 12);
  const auto heads = heads_of(joint.narrow(2, 36, 76));
  const d9d::kernels::ProjectedHeads cases[] = {{gated, heads.k, heads.v},
                                                {heads.q, heads.k.narrow(2, 1, 1), heads.v.narrow(2, 1, 1)},
                                                {heads.q, heads.k, heads.v.clone()}};
  for (const auto& each : cases) {
    const Tensors given = gradients(leaves_of(each), {0, 1, 2}),
                  apart = gradients(leaves_of(each, /*copies=*/true), {0, 1, 2});

    EXPECT_FALSE(given[0].storage().is_alias_of(given[1].storage()));
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(given[i].equal(apart[i])) << i;
  }
}

TEST(Rope, GradientsMatchCentralDifferences) {
  const auto [cos, sin] = angles({3, 4}, RopeStyle::half);
  d9d::test::gradcheck(
      [&](const Tensors& in) {
        return pair(d9d::kernels::qk_norm_rope(in[0], in[1], in[2], in[3], 1e-6, cos, sin));
      },
      {values({1, 3, 2, 6}, 1), values({1, 3, 1, 6}, 2), values({6}, 3), values({6}, 4)});
}
