#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

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
  const auto [probs, experts] = d9d::kernels::moe_router(logits, {top_k, renormalise});
  return {probs, experts};
}

// As transformers computes it for DeepSeek-V3.
Tensors reference_grouped(const at::Tensor& logits, const at::Tensor& bias,
                          const d9d::kernels::RouterRule& rule) {
  const at::Tensor scores = at::sigmoid(logits);
  at::Tensor choice = scores.detach() + bias;
  const at::Tensor by_group = choice.unflatten(1, {rule.groups, -1});
  const at::Tensor sums = std::get<0>(by_group.topk(2, -1)).sum(-1);
  const at::Tensor kept = std::get<1>(sums.topk(rule.kept_groups, -1));
  const at::Tensor mask =
      at::zeros_like(sums).scatter(1, kept, 1).unsqueeze(-1).expand_as(by_group).flatten(1);
  choice = choice.masked_fill(mask == 0, -INFINITY);
  const at::Tensor experts = std::get<1>(choice.topk(rule.top_k, -1));
  at::Tensor probs = scores.gather(1, experts);
  if (rule.renormalise) probs = probs / (probs.sum(-1, true) + 1e-20);
  return {probs * rule.scale, experts};
}

Tensors grouped(const at::Tensor& logits, const at::Tensor& bias, const d9d::kernels::RouterRule& rule) {
  const auto [probs, experts] = d9d::kernels::moe_router(logits, rule, bias);
  return {probs, experts};
}

d9d::kernels::RouterRule grouped_rule(bool renormalise) {
  return {
      .top_k = 3, .renormalise = renormalise, .sigmoid = true, .groups = 4, .kept_groups = 2, .scale = 2.5};
}

}  // namespace

TEST(MoeRouter, ChoosesBySigmoidAndBiasInTheBestGroups) {
  const at::Tensor bias = values({12}, 5) * 0.3;
  for (const bool renormalise : {true, false}) {
    d9d::test::expect_matches_in_every_dtype(
        [=](const Tensors& in) { return grouped(in[0], bias, grouped_rule(renormalise)); },
        [=](const Tensors& in) { return reference_grouped(in[0], bias, grouped_rule(renormalise)); },
        {values({41, 12}, 1) * 2 + at::arange(12, at::kDouble) * 1e-3});
  }
}

TEST(MoeRouter, TheBiasChoosesAndDoesNotWeigh) {
  const at::Tensor logits = at::tensor({2.0F, 1.0F, 0.0F}).unsqueeze(0);

  const auto [probs, experts] = d9d::kernels::moe_router(logits, {1, false}, at::tensor({0.0F, 0.0F, 9.0F}));

  EXPECT_EQ(experts.item<int64_t>(), 2);
  d9d::test::expect_close(probs, at::softmax(logits, -1).narrow(1, 2, 1), 1e-6, "probs");
}

TEST(MoeRouter, GradientsOfSigmoidsMatchCentralDifferences) {
  const at::Tensor bias = values({12}, 5) * 0.3;
  for (const bool renormalise : {true, false}) {
    d9d::test::gradcheck(
        [=](const Tensors& in) { return Tensors{grouped(in[0], bias, grouped_rule(renormalise))[0]}; },
        {values({4, 12}, 1)});
  }
}

TEST(MoeRouter, RefusesGroupsThatDoNotDivideTheExpertsAndTooFewKeptOnes) {
  const auto route = [](const d9d::kernels::RouterRule& rule) {
    return d9d::kernels::moe_router(at::zeros({2, 12}), rule);
  };

  EXPECT_THROW(route({.top_k = 2, .groups = 5, .kept_groups = 1}), c10::Error);
  EXPECT_THROW(route({.top_k = 4, .groups = 4, .kept_groups = 1}), c10::Error);
  EXPECT_THROW(d9d::kernels::moe_router(at::zeros({2, 12}), {2}, at::zeros({11})), c10::Error);
}

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
  const auto [probs, experts] = d9d::kernels::moe_router(at::zeros({2, 6}), {3, true});

  EXPECT_TRUE(experts.equal(at::tensor({0, 1, 2}, at::kLong).expand({2, 3})));
  d9d::test::expect_close(probs, at::full({2, 3}, 1.0 / 3), 1e-6, "probs");
}

TEST(MoeRouter, GradientsMatchCentralDifferences) {
  for (const bool renormalise : {true, false}) {
    d9d::test::gradcheck([=](const Tensors& in) { return Tensors{router(in[0], 2, renormalise)[0]}; },
                         {values({4, 5}, 1)});
  }
}
