#include "kernels/attention/rope.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

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

TEST(Rope, GradientsMatchCentralDifferences) {
  const auto [cos, sin] = angles({3, 4}, RopeStyle::half);
  d9d::test::gradcheck(
      [&](const Tensors& in) {
        return pair(d9d::kernels::qk_norm_rope(in[0], in[1], in[2], in[3], 1e-6, cos, sin));
      },
      {values({1, 3, 2, 6}, 1), values({1, 3, 1, 6}, 2), values({6}, 3), values({6}, 4)});
}
