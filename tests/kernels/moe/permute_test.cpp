#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/moe/choice_counts.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

// Probabilities keep fp32 whatever the dtype of the rest.
at::Tensor in_sum_dtype(const at::Tensor& probs) {
  return probs.scalar_type() == at::kDouble ? probs : probs.to(at::kFloat);
}

}  // namespace

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

// Three experts each: tokens choose (0, 2, 1), (8, 3, 6) and (5, 0, 4).
TEST(ChoiceOwners, CountATokenOnceForEachOwner) {
  const auto experts = at::tensor({0, 2, 1, 8, 3, 6, 5, 0, 4}, at::kLong).view({3, 3});

  EXPECT_TRUE(d9d::kernels::choice_owners(experts, 3)
                  .equal(at::tensor({0, -1, -1, 2, 1, -1, 1, 0, -1}, at::kLong).view({3, 3})));
  EXPECT_TRUE(d9d::kernels::choice_owners(experts, 1).equal(experts)) << "every expert is its own owner";
  EXPECT_EQ(d9d::kernels::choice_owners(experts.narrow(0, 0, 0), 3).sizes(), at::IntArrayRef({0, 3}));
  EXPECT_THROW(d9d::kernels::choice_owners(experts, 0), c10::Error);
  EXPECT_THROW(d9d::kernels::choice_owners(experts.to(at::kInt), 3), c10::Error);
}

TEST(MoePermute, CountsTheChoicesOfEachExpert) {
  const auto experts = integers({13, 3}, 6, 7);

  EXPECT_TRUE(d9d::kernels::choice_counts(experts, 9).equal(at::bincount(experts.flatten(), {}, 9)));
}

TEST(MoePermute, AndBackIsTheWeightedSum) {
  const auto experts = integers({13, 3}, 6, 7);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors {
        const auto [rows, offsets, map] = d9d::kernels::moe_permute(in[0], experts, 5);
        return {d9d::kernels::moe_unpermute(rows, in_sum_dtype(in[1]), map)};
      },
      [&](const Tensors& in) -> Tensors { return {in[0] * (in[1] * experts.lt(5)).sum(1, true)}; },
      {values({13, 37}, 1), values({13, 3}, 2)});
}
