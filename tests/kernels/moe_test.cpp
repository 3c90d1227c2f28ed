#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

Tensors reference_router(const at::Tensor& logits, int64_t top_k, bool renormalise) {
  const auto softmax = at::softmax(logits, -1);
  const auto order = std::get<1>(at::sort(logits.detach(), /*stable=*/true, -1, /*descending=*/true));
  const auto experts = order.narrow(1, 0, top_k);
  auto probs = softmax.gather(1, experts);
  if (renormalise) probs = probs / (probs.sum(-1, true) + 1e-20);
  return {probs, experts};
}

Tensors router(const at::Tensor& logits, int64_t top_k, bool renormalise) {
  const auto [probs, experts] = d9d::kernels::moe_router(logits, top_k, renormalise);
  return {probs, experts};
}

// Token by token, expert by expert: in x, probs, gate, up, down.
at::Tensor reference_experts(const Tensors& in, const at::Tensor& experts) {
  auto y = at::zeros_like(in[0]);
  for (int64_t e = 0; e < in[2].size(0); ++e) {
    const auto hidden = at::silu(at::linear(in[0], in[2][e])) * at::linear(in[0], in[3][e]);
    const auto share = (in[1] * experts.eq(e)).sum(1, true);
    y = y + share * at::linear(hidden, in[4][e]);
  }
  return y;
}

Tensors expert_inputs(int64_t tokens, int64_t hidden, int64_t inner, int64_t experts, int64_t top_k) {
  return {values({tokens, hidden}, 1), values({tokens, top_k}, 2), values({experts, inner, hidden}, 3),
          values({experts, inner, hidden}, 4), values({experts, hidden, inner}, 5)};
}

// probs keep fp32 whatever the dtype of the rest.
at::Tensor as_probs(const at::Tensor& probs) {
  return probs.scalar_type() == at::kDouble ? probs : probs.to(at::kFloat);
}

Tensors experts_op(const Tensors& in, const at::Tensor& experts) {
  return {d9d::kernels::moe_experts(in[0], as_probs(in[1]), experts, in[2], in[3], in[4])};
}

}  // namespace

TEST(MoeRouter, ChoosesAndWeighsTheTopExperts) {
  for (const bool renormalise : {true, false}) {
    for (const int64_t experts : {1, 5, 8, 33}) {
      const int64_t top_k = std::min<int64_t>(experts, 3);
      d9d::test::expect_matches_in_every_dtype(
          [=](const Tensors& in) { return router(in[0], top_k, renormalise); },
          [=](const Tensors& in) { return reference_router(in[0], top_k, renormalise); },
          {values({21, experts}, 1) * 4 + at::arange(experts, at::kDouble) * 1e-3});
    }
  }
}

TEST(MoeRouter, BreaksTiesByTheLowerIndex) {
  const auto [probs, experts] = d9d::kernels::moe_router(at::zeros({2, 6}), 3, true);

  EXPECT_TRUE(experts.equal(at::tensor({0, 1, 2}, at::kLong).expand({2, 3})));
  d9d::test::expect_close(probs, at::full({2, 3}, 1.0 / 3), 1e-6, "probs");
}

TEST(MoeRouter, GradientsMatchCentralDifferences) {
  for (const bool renormalise : {true, false}) {
    d9d::test::gradcheck([=](const Tensors& in) { return Tensors{router(in[0], 2, renormalise)[0]}; },
                         {values({4, 5}, 1)});
  }
}

TEST(MoePermute, GroupsRowsByExpertInTokenOrder) {
  const auto x = at::arange(4, at::kFloat).view({4, 1});
  const auto experts = at::tensor({2, 0, 0, 2, 2, 3, 0, 3}, at::kLong).view({4, 2});

  const auto [rows, offsets, map] = d9d::kernels::moe_permute(x, experts, 5);

  EXPECT_TRUE(rows.equal(at::tensor({0., 1., 3., 0., 1., 2., 2., 3.}, at::kFloat).view({8, 1})));
  EXPECT_TRUE(offsets.equal(at::tensor({0, 3, 3, 6, 8, 8}, at::kLong)));
  EXPECT_TRUE(map.equal(at::tensor({3, 0, 1, 4, 5, 6, 2, 7}, at::kLong).view({4, 2})));
}

TEST(MoePermute, GivesChoicesOutsideNoRow) {
  const auto experts = at::tensor({-1, 0, 1, 7}, at::kLong).view({2, 2});

  const auto [rows, offsets, map] = d9d::kernels::moe_permute(values({2, 3}, 1), experts, 2);

  EXPECT_EQ(rows.size(0), 2);
  EXPECT_TRUE(map.equal(at::tensor({-1, 0, 1, -1}, at::kLong).view({2, 2})));
}

TEST(MoePermute, AndBackIsTheWeightedSum) {
  const auto experts = integers({13, 3}, 6, 7);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors {
        const auto [rows, offsets, map] = d9d::kernels::moe_permute(in[0], experts, 5);
        return {d9d::kernels::moe_unpermute(rows, as_probs(in[1]), map)};
      },
      [&](const Tensors& in) -> Tensors { return {in[0] * (in[1] * experts.lt(5)).sum(1, true)}; },
      {values({13, 37}, 1), values({13, 3}, 2)});
}

TEST(GroupedLinear, MultipliesEachGroupWithItsExpert) {
  const auto offsets = at::tensor({0, 4, 4, 9, 10}, at::kLong);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {d9d::kernels::grouped_linear(in[0], in[1], offsets)}; },
      [&](const Tensors& in) -> Tensors {
        Tensors parts;
        for (int64_t e = 0; e < 4; ++e) {
          const auto begin = offsets[e].item<int64_t>(), end = offsets[e + 1].item<int64_t>();
          parts.push_back(at::linear(in[0].narrow(0, begin, end - begin), in[1][e]));
        }
        return {at::cat(parts)};
      },
      {values({10, 11}, 1), values({4, 7, 11}, 2)});
}

TEST(GroupedLinear, NamesOffsetsThatDoNotCoverTheRows) {
  const auto offsets = at::tensor({0, 4, 9}, at::kLong);

  EXPECT_THROW(d9d::kernels::grouped_linear(values({10, 3}, 1), values({2, 5, 3}, 2), offsets), c10::Error);
}

TEST(MoeExperts, EqualTheSumOverExperts) {
  for (const int64_t tokens : {0, 1, 29, 150}) {
    const auto experts = reference_router(values({tokens, 7}, 8), 3, false)[1];
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) { return experts_op(in, experts); },
        [&](const Tensors& in) -> Tensors { return {reference_experts(in, experts)}; },
        expert_inputs(tokens, 19, 21, 7, 3));
  }
}

TEST(MoeExperts, WithoutRowsHaveZeroGradients) {
  const auto experts = at::full({6, 2}, 3, at::kLong);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) { return experts_op(in, experts); },
      [&](const Tensors& in) -> Tensors { return {reference_experts(in, experts)}; },
      expert_inputs(6, 8, 4, 5, 2));
}

TEST(MoeExperts, GiveTheNumbersOfTheComposition) {
  const auto experts = integers({40, 2}, 5, 3);
  const auto composed = [&](const Tensors& in) -> Tensors {
    const auto [rows, offsets, map] = d9d::kernels::moe_permute(in[0], experts, 5);
    const auto gate = d9d::kernels::grouped_linear(rows, in[2], offsets);
    const auto up = d9d::kernels::grouped_linear(rows, in[3], offsets);
    return {d9d::kernels::moe_unpermute(d9d::kernels::grouped_linear(at::silu(gate) * up, in[4], offsets),
                                        in[1], map)};
  };

  d9d::test::expect_matches([&](const Tensors& in) { return experts_op(in, experts); }, composed,
                            expert_inputs(40, 16, 24, 5, 2), at::kFloat);
}

TEST(MoeExperts, GradientsMatchCentralDifferences) {
  const auto experts = at::tensor({0, 2, 2, 0, 0, 3}, at::kLong).view({3, 2});

  d9d::test::gradcheck([&](const Tensors& in) { return experts_op(in, experts); },
                       expert_inputs(3, 4, 3, 4, 2));
}
