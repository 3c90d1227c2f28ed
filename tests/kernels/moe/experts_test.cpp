#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

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

TEST(MoeExperts, EqualTheSumOverExperts) {
  for (const int64_t tokens : {0, 1, 29, 150}) {
    const auto experts = std::get<1>(d9d::kernels::moe_router(values({tokens, 7}, 8), {3, false}));
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
