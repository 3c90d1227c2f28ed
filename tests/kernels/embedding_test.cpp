#include "kernels/embedding.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

TEST(Embedding, LooksRowsUpAndSumsTheirGradients) {
  const auto ids = integers({3, 17}, 5, 1);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {d9d::kernels::embedding(ids, in[0])}; },
      [&](const Tensors& in) -> Tensors { return {at::embedding(in[0], ids)}; }, {values({7, 13}, 2)});
}

TEST(Embedding, NamesAnIdOutsideTheTable) {
  const auto ids = at::tensor({0, 7}, at::kLong);

  EXPECT_THROW(d9d::kernels::embedding(ids, values({7, 3}, 1)), c10::IndexError);
}
