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
  const auto [probs, experts] = d9d::kernels::moe_router(logits, top_k, renormalise);
  return {probs, experts};
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
