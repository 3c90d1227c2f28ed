#include "kernels/attention/attention.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/gradcheck.hpp"

using d9d::kernels::AttentionMask;
using d9d::kernels::causal_mask;
using d9d::kernels::full_mask;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

// By the definition of the mask, one score at a time.
at::Tensor hidden_keys(const AttentionMask& mask, int64_t queries, int64_t keys) {
  at::Tensor hidden = at::zeros({queries, keys}, at::kBool);
  auto* cell = hidden.data_ptr<bool>();
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t earlier = i + mask.offset - j;
      *cell++ = earlier > mask.before || -earlier > mask.after;
    }
  }
  return hidden;
}

at::Tensor reference_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale) {
  const auto group = q.size(2) / k.size(2);
  const auto keys = k.repeat_interleave(group, 2).transpose(1, 2),
             vals = v.repeat_interleave(group, 2).transpose(1, 2);
  auto scores = at::matmul(q.transpose(1, 2), keys.transpose(2, 3)) * scale;
  scores =
      scores.masked_fill(hidden_keys(mask, q.size(1), k.size(1)), -std::numeric_limits<double>::infinity());
  return at::matmul(at::softmax(scores, -1), vals).transpose(1, 2);
}

void expect_attention(int64_t length, int64_t query_heads, int64_t key_heads, int64_t dim,
                      const AttentionMask& mask) {
  SCOPED_TRACE(::testing::Message() << "S " << length << ", heads " << query_heads << "/" << key_heads
                                    << ", D " << dim << ", before " << mask.before << ", after "
                                    << mask.after);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  d9d::test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0], in[1], in[2], mask, scale)};
      },
      [=](const Tensors& in) -> Tensors { return {reference_attention(in[0], in[1], in[2], mask, scale)}; },
      {values({2, length, query_heads, dim}, 1) * 3, values({2, length, key_heads, dim}, 2) * 3,
       values({2, length, key_heads, dim}, 3)});
}

}  // namespace

// MOD-32: eager attention over repeated key heads.
TEST(Attention, MatchesEagerSoftmaxOnOddSizes) {
  for (const AttentionMask& mask : {causal_mask, full_mask}) {
    expect_attention(1, 2, 1, 8, mask);
    expect_attention(7, 4, 2, 5, mask);
    expect_attention(33, 2, 2, 32, mask);
    expect_attention(70, 8, 2, 16, mask);
    expect_attention(129, 3, 1, 64, mask);
    expect_attention(97, 2, 1, 128, mask);
    expect_attention(550, 2, 1, 24, mask);
  }
}

TEST(Attention, OfWindowsMatchesEagerSoftmax) {
  for (const int64_t window : {2, 17, 64, 200, 1000}) {
    const AttentionMask mask{window - 1, 0, 0};
    expect_attention(1, 2, 1, 8, mask);
    expect_attention(33, 4, 2, 5, mask);
    expect_attention(129, 3, 1, 64, mask);
    expect_attention(300, 4, 2, 16, mask);
    expect_attention(600, 2, 1, 24, mask);
  }
}

// MOD-32: windows by the distance to the left and to the right.
TEST(Attention, SeesBothSidesOfAWindow) {
  for (const int64_t before : {0, 5, 40}) {
    for (const int64_t after : {1, 3, 70}) expect_attention(150, 4, 2, 16, {before, after, 0});
  }
}

// Apart from the others, because no relative error holds for gradients that are zero.
TEST(Attention, OfAWindowOfOneKeyIsItsValue) {
  const auto leaf = [](const at::Tensor& x) { return x.to(at::kFloat).requires_grad_(true); };
  const at::Tensor q = leaf(values({2, 70, 4, 16}, 1)), k = leaf(values({2, 70, 4, 16}, 2)),
                   v = leaf(values({2, 70, 4, 16}, 3));

  const at::Tensor out = d9d::kernels::attention(q, k, v, AttentionMask{0, 0, 0}, 0.25);
  out.sum().backward();

  EXPECT_TRUE(at::allclose(out, v, 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(v.grad(), at::ones_like(v), 1e-6));
  EXPECT_LT(q.grad().abs().max().item<float>(), 1e-5F);
  EXPECT_LT(k.grad().abs().max().item<float>(), 1e-5F);
}

TEST(Attention, GradientsOfAWindowMatchCentralDifferences) {
  d9d::test::gradcheck(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0], in[1], in[2], AttentionMask{2, 0, 0}, 0.5)};
      },
      {values({1, 6, 2, 3}, 1), values({1, 6, 1, 3}, 2), values({1, 6, 1, 3}, 3)});
}

TEST(Attention, RefusesAMaskThatHidesAllKeysOfAQuery) {
  const auto q = values({1, 6, 1, 4}, 1), k = values({1, 4, 1, 4}, 2);

  EXPECT_ANY_THROW(d9d::kernels::attention(q, k, k, AttentionMask{1, 0, 0}, 1.0));
  EXPECT_ANY_THROW(d9d::kernels::attention(q, k, k, AttentionMask{AttentionMask::unlimited, 0, -1}, 1.0));
}

TEST(Attention, TakesValuesOfAnotherWidth) {
  for (const int64_t value_dim : {5, 16, 40}) {
    SCOPED_TRACE(value_dim);
    d9d::test::expect_matches_in_every_dtype(
        [](const Tensors& in) -> Tensors {
          return {d9d::kernels::attention(in[0], in[1], in[2], causal_mask, 0.25)};
        },
        [](const Tensors& in) -> Tensors {
          return {reference_attention(in[0], in[1], in[2], causal_mask, 0.25)};
        },
        {values({2, 33, 4, 16}, 1), values({2, 33, 2, 16}, 2), values({2, 33, 2, value_dim}, 3)});
  }
}

TEST(Attention, TakesViewsOfAJointProjection) {
  const auto joint = values({2, 37, 4 * 16}, 1);

  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0].view({2, 37, 2, 16}), in[1].view({2, 37, 1, 16}),
                                        in[2].view({2, 37, 1, 16}), causal_mask, 0.25)};
      },
      [](const Tensors& in) -> Tensors {
        return {reference_attention(in[0].view({2, 37, 2, 16}), in[1].view({2, 37, 1, 16}),
                                    in[2].view({2, 37, 1, 16}), causal_mask, 0.25)};
      },
      {joint.narrow(2, 0, 32), joint.narrow(2, 32, 16), joint.narrow(2, 48, 16)});
}

TEST(Attention, SurvivesScoresThatOverflowTheExponential) {
  d9d::test::expect_matches(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0], in[1], in[2], causal_mask, 1.0)};
      },
      [](const Tensors& in) -> Tensors {
        return {reference_attention(in[0], in[1], in[2], causal_mask, 1.0)};
      },
      {values({1, 65, 1, 8}, 1) * 30, values({1, 65, 1, 8}, 2) * 30, values({1, 65, 1, 8}, 3)}, at::kDouble);
}

TEST(Attention, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0], in[1], in[2], causal_mask, 0.5)};
      },
      {values({1, 5, 2, 3}, 1), values({1, 5, 1, 3}, 2), values({1, 5, 1, 3}, 3)});
}
