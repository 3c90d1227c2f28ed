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

TEST(Embedding, OfAPartGivesZerosForOtherRowsAndItsRowsTheirGradients) {
  const auto ids = integers({3, 17}, 9, 1);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {d9d::kernels::embedding_of_part(ids, in[0], 2, 9)}; },
      [&](const Tensors& in) -> Tensors {
        const auto whole = at::constant_pad_nd(in[0], {0, 0, 2, 3});
        return {at::embedding(whole, ids)};
      },
      {values({4, 13}, 2)});
}

TEST(Embedding, OfAPartNamesAnIdOutsideTheVocabulary) {
  const auto ids = at::tensor({0, 9}, at::kLong);

  EXPECT_THROW(d9d::kernels::embedding_of_part(ids, values({4, 3}, 1), 2, 9), c10::IndexError);
}
