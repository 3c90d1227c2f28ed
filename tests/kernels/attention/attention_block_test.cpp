// Blocks of attention put together equal attention over all keys, forward and backward.
#include "kernels/attention/attention_block.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/attention/attention.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::AttentionBlock;
using d9d::kernels::AttentionMask;
using d9d::kernels::causal_mask;
using d9d::kernels::full_mask;
using d9d::test::values;

namespace {

struct Case {
  int64_t queries, keys, cut, query_heads, key_heads, dim;
};

void expect_close(const at::Tensor& got, const at::Tensor& wanted, double tolerance) {
  const at::Tensor expected = wanted.to(at::kDouble);
  const double error = (got.to(at::kDouble) - expected).norm().item<double>();
  EXPECT_LT(error, tolerance * expected.norm().item<double>() + 1e-12);
}

// Queries see `keys` keys in two blocks, cut at `cut`.
void expect_merged(const Case& c, at::ScalarType dtype, double tolerance) {
  SCOPED_TRACE(::testing::Message() << c.queries << " x " << c.keys << " cut at " << c.cut << ", heads "
                                    << c.query_heads << "/" << c.key_heads << ", D " << c.dim << ", "
                                    << c10::toString(dtype));
  const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  const double scale = 1 / std::sqrt(static_cast<double>(c.dim));
  const auto q = (values({2, c.queries, c.query_heads, c.dim}, 1) * 3).to(dtype);
  const auto k = (values({2, c.keys, c.key_heads, c.dim}, 2) * 3).to(dtype);
  const auto v = values({2, c.keys, c.key_heads, c.dim}, 3).to(dtype);
  const auto grad = values({2, c.queries, c.query_heads, c.dim}, 4).to(wide);
  const auto part = [&](const at::Tensor& x, bool first) {
    return first ? x.narrow(1, 0, c.cut) : x.narrow(1, c.cut, c.keys - c.cut);
  };

  const AttentionBlock whole = d9d::kernels::attention_block(
      q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble), full_mask, scale, at::kDouble);
  const auto gradients =
      d9d::kernels::attention_block_backward(grad.to(at::kDouble), q.to(at::kDouble), k.to(at::kDouble),
                                             v.to(at::kDouble), whole, full_mask, scale, at::kDouble);
  const AttentionBlock merged =
      d9d::kernels::attention_block(q, part(k, true), part(v, true), full_mask, scale, wide);
  merge_attention_block(
      merged, d9d::kernels::attention_block(q, part(k, false), part(v, false), full_mask, scale, wide));
  const auto left = d9d::kernels::attention_block_backward(grad, q, part(k, true), part(v, true), merged,
                                                           full_mask, scale, wide);
  const auto right = d9d::kernels::attention_block_backward(grad, q, part(k, false), part(v, false), merged,
                                                            full_mask, scale, wide);

  expect_close(merged.out, whole.out, tolerance);
  expect_close(merged.lse, whole.lse, tolerance);
  expect_close(left.dq + right.dq, gradients.dq, tolerance);
  expect_close(at::cat({left.dk, right.dk}, 1), gradients.dk, tolerance);
  expect_close(at::cat({left.dv, right.dv}, 1), gradients.dv, tolerance);
}

TEST(AttentionBlock, BlocksOfKeysMergeToTheWholeInEveryDtype) {
  for (const Case& c : {Case{1, 2, 1, 2, 1, 8}, Case{7, 19, 5, 4, 2, 5}, Case{33, 70, 64, 2, 2, 32},
                        Case{130, 47, 17, 3, 1, 24}, Case{20, 600, 530, 2, 1, 64}}) {
    expect_merged(c, at::kDouble, 1e-12);
    expect_merged(c, at::kFloat, 1e-5);
    expect_merged(c, at::kBFloat16, 1e-2);
  }
}

TEST(AttentionBlock, ACausalBlockAndTheKeysBeforeItMakeCausalAttention) {
  const int64_t length = 61, half = 32;
  const auto q = values({1, length, 4, 16}, 1), k = values({1, length, 2, 16}, 2),
             v = values({1, length, 2, 16}, 3);
  const auto late = [=](const at::Tensor& x) { return x.narrow(1, half, length - half); };
  const auto early = [=](const at::Tensor& x) { return x.narrow(1, 0, half); };

  const auto merged =
      d9d::kernels::attention_block(late(q), late(k), late(v), causal_mask, 0.25, at::kDouble);
  merge_attention_block(
      merged, d9d::kernels::attention_block(late(q), early(k), early(v), full_mask, 0.25, at::kDouble));

  expect_close(merged.out, late(d9d::kernels::attention(q, k, v, causal_mask, 0.25)), 1e-12);
}

// Keys before the queries, all of them or the last ones: as ranks that share a sequence have them.
TEST(AttentionBlock, BlocksOfAWindowMakeAttentionInTheWindow) {
  const int64_t length = 170, half = 100;
  const auto late = [=](const at::Tensor& x) { return x.narrow(1, half, length - half); };
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto q = values({2, length, 4, 16}, 1).to(dtype), k = values({2, length, 2, 16}, 2).to(dtype),
               v = values({2, length, 2, 16}, 3).to(dtype);
    const auto grad = values({2, length, 4, 16}, 4).to(dtype == at::kDouble ? at::kDouble : at::kFloat);
    const auto wide = grad.scalar_type();
    const double tolerance = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : 1e-2;
    const auto once = d9d::kernels::attention_block_backward(
        grad, q, k, v, d9d::kernels::attention_block(q, k, v, {89, 0, 0}, 0.25, wide), {89, 0, 0}, 0.25,
        wide);
    const auto whole = d9d::kernels::attention_block(q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble),
                                                     {89, 0, 0}, 0.25, at::kDouble);
    // Of the keys 0 to 99, the first late query sees those from 11 on, all late ones at least one.
    const auto early = [=](const at::Tensor& x) { return x.narrow(1, 11, half - 11); };
    const AttentionMask before{89, AttentionMask::unlimited, half - 11}, own{89, 0, 0};

    const auto merged = d9d::kernels::attention_block(late(q), late(k), late(v), own, 0.25, wide);
    merge_attention_block(merged,
                          d9d::kernels::attention_block(late(q), early(k), early(v), before, 0.25, wide));
    const auto shares = d9d::kernels::attention_block_backward(late(grad), late(q), early(k), early(v),
                                                               merged, before, 0.25, wide);
    const auto own_shares = d9d::kernels::attention_block_backward(late(grad), late(q), late(k), late(v),
                                                                   merged, own, 0.25, wide);

    expect_close(merged.out, late(whole.out), tolerance);
    expect_close(shares.dq + own_shares.dq, late(once.dq), tolerance);
    expect_close(own_shares.dk, late(once.dk), tolerance);
    expect_close(own_shares.dv, late(once.dv), tolerance);
  }
}

TEST(AttentionBlock, MergingSurvivesScoresThatOverflowTheExponential) {
  const auto q = values({1, 9, 1, 8}, 1) * 60, k = values({1, 12, 1, 8}, 2) * 60,
             v = values({1, 12, 1, 8}, 3);
  const auto whole = d9d::kernels::attention_block(q, k, v, full_mask, 1, at::kDouble);

  const auto merged =
      d9d::kernels::attention_block(q, k.narrow(1, 0, 5), v.narrow(1, 0, 5), full_mask, 1, at::kDouble);
  merge_attention_block(merged, d9d::kernels::attention_block(q, k.narrow(1, 5, 7), v.narrow(1, 5, 7),
                                                              full_mask, 1, at::kDouble));

  expect_close(merged.out, whole.out, 1e-12);
  expect_close(merged.lse, whole.lse, 1e-12);
}

}  // namespace
