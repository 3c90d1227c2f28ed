#include "kernels/attention.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/gradcheck.hpp"

using d9d::test::Tensors;
using d9d::test::values;

namespace {

at::Tensor reference_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                               double scale) {
  const auto group = q.size(2) / k.size(2);
  const auto keys = k.repeat_interleave(group, 2).transpose(1, 2),
             vals = v.repeat_interleave(group, 2).transpose(1, 2);
  auto scores = at::matmul(q.transpose(1, 2), keys.transpose(2, 3)) * scale;
  if (causal) {
    const auto hidden = at::ones({q.size(1), q.size(1)}, at::kBool).triu(1);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1), vals).transpose(1, 2);
}

void expect_attention(int64_t length, int64_t query_heads, int64_t key_heads, int64_t dim, bool causal) {
  SCOPED_TRACE(::testing::Message() << "S " << length << ", heads " << query_heads << "/" << key_heads
                                    << ", D " << dim << (causal ? ", causal" : ""));
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  d9d::test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0], in[1], in[2], causal, scale)};
      },
      [=](const Tensors& in) -> Tensors { return {reference_attention(in[0], in[1], in[2], causal, scale)}; },
      {values({2, length, query_heads, dim}, 1) * 3, values({2, length, key_heads, dim}, 2) * 3,
       values({2, length, key_heads, dim}, 3)});
}

}  // namespace

TEST(Attention, MatchesEagerSoftmaxOnOddSizes) {
  for (const bool causal : {true, false}) {
    expect_attention(1, 2, 1, 8, causal);
    expect_attention(7, 4, 2, 5, causal);
    expect_attention(33, 2, 2, 32, causal);
    expect_attention(70, 8, 2, 16, causal);
    expect_attention(129, 3, 1, 64, causal);
    expect_attention(97, 2, 1, 128, causal);
    expect_attention(550, 2, 1, 24, causal);
  }
}

TEST(Attention, TakesValuesOfAnotherWidth) {
  for (const int64_t value_dim : {5, 16, 40}) {
    SCOPED_TRACE(value_dim);
    d9d::test::expect_matches_in_every_dtype(
        [](const Tensors& in) -> Tensors {
          return {d9d::kernels::attention(in[0], in[1], in[2], true, 0.25)};
        },
        [](const Tensors& in) -> Tensors { return {reference_attention(in[0], in[1], in[2], true, 0.25)}; },
        {values({2, 33, 4, 16}, 1), values({2, 33, 2, 16}, 2), values({2, 33, 2, value_dim}, 3)});
  }
}

TEST(Attention, TakesViewsOfAJointProjection) {
  const auto joint = values({2, 37, 4 * 16}, 1);

  d9d::test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors {
        return {d9d::kernels::attention(in[0].view({2, 37, 2, 16}), in[1].view({2, 37, 1, 16}),
                                        in[2].view({2, 37, 1, 16}), true, 0.25)};
      },
      [](const Tensors& in) -> Tensors {
        return {reference_attention(in[0].view({2, 37, 2, 16}), in[1].view({2, 37, 1, 16}),
                                    in[2].view({2, 37, 1, 16}), true, 0.25)};
      },
      {joint.narrow(2, 0, 32), joint.narrow(2, 32, 16), joint.narrow(2, 48, 16)});
}

TEST(Attention, SurvivesScoresThatOverflowTheExponential) {
  d9d::test::expect_matches(
      [](const Tensors& in) -> Tensors { return {d9d::kernels::attention(in[0], in[1], in[2], true, 1.0)}; },
      [](const Tensors& in) -> Tensors { return {reference_attention(in[0], in[1], in[2], true, 1.0)}; },
      {values({1, 65, 1, 8}, 1) * 30, values({1, 65, 1, 8}, 2) * 30, values({1, 65, 1, 8}, 3)}, at::kDouble);
}

TEST(Attention, GradientsMatchCentralDifferences) {
  d9d::test::gradcheck(
      [](const Tensors& in) -> Tensors { return {d9d::kernels::attention(in[0], in[1], in[2], true, 0.5)}; },
      {values({1, 5, 2, 3}, 1), values({1, 5, 1, 3}, 2), values({1, 5, 1, 3}, 3)});
}
