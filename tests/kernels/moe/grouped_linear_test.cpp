#include "kernels/moe.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::Tensors;
using d9d::test::values;

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
