#include "kernels/cross_entropy.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/weight_work.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::WeightWork;
using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

at::Tensor reference_loss(const Tensors& in, const at::Tensor& labels) {
  return at::cross_entropy_loss(at::linear(in[0], in[1]), labels, {}, at::Reduction::None);
}

at::Tensor loss_of(const Tensors& in, const at::Tensor& labels) {
  return d9d::kernels::linear_cross_entropy(in[0], in[1], labels);
}

at::Tensor labels_with_holes(int64_t tokens, int64_t vocabulary) {
  auto labels = integers({tokens}, vocabulary, 5);
  for (int64_t t = 0; t < tokens; t += 3) labels[t] = -100;
  return labels;
}

}  // namespace

TEST(LinearCrossEntropy, MatchesTheLogitsForAnyUpstreamGradient) {
  for (const int64_t tokens : {1, 10, 300}) {
    const auto labels = labels_with_holes(tokens, 43);
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) -> Tensors { return {loss_of(in, labels)}; },
        [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels)}; },
        {values({tokens, 19}, 1), values({43, 19}, 2)});
  }
}

TEST(LinearCrossEntropy, MatchesTheLogitsForAUniformUpstreamGradient) {
  const auto labels = labels_with_holes(140, 43);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {loss_of(in, labels).sum() * 0.25}; },
      [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels).sum() * 0.25}; },
      {values({140, 19}, 1), values({43, 19}, 2)});
}

TEST(LinearCrossEntropy, OfIgnoredTokensOnlyIsZeroWithZeroGradients) {
  const auto labels = at::full({5}, -100, at::kLong);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {loss_of(in, labels)}; },
      [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels)}; },
      {values({5, 4}, 1), values({6, 4}, 2)});
}

TEST(LinearCrossEntropy, SurvivesLogitsThatOverflowTheExponential) {
  const auto labels = integers({9}, 43, 5);

  d9d::test::expect_matches([&](const Tensors& in) -> Tensors { return {loss_of(in, labels)}; },
                            [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels)}; },
                            {values({9, 19}, 1) * 100, values({43, 19}, 2) * 10}, at::kFloat);
}

TEST(LinearCrossEntropy, RecomputesWhenTheTemporaryIsTaken) {
  const auto labels = labels_with_holes(70, 43);
  const auto slot = std::make_shared<d9d::kernels::TemporarySlot>();
  slot->borrow({1}, at::kFloat);
  const WeightWork::Scope scope(c10::make_intrusive<WeightWork>(WeightWork::Mode::now, slot));

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {loss_of(in, labels).sum()}; },
      [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels).sum()}; },
      {values({70, 19}, 1), values({43, 19}, 2)});
}

TEST(LinearCrossEntropy, HoldsOneTemporaryAtATimeAndGivesItBack) {
  const auto work = c10::make_intrusive<WeightWork>();
  const WeightWork::Scope scope(work);
  const auto labels = integers({9}, 43, 5);
  const auto hidden = values({9, 19}, 1, at::kFloat).requires_grad_(true);
  const auto weight = values({43, 19}, 2, at::kFloat).requires_grad_(true);

  auto first = loss_of({hidden, weight}, labels).sum();
  EXPECT_TRUE(work->slot()->is_borrowed());
  first.backward();
  EXPECT_FALSE(work->slot()->is_borrowed());

  { const auto dropped = loss_of({hidden, weight}, labels); }
  EXPECT_FALSE(work->slot()->is_borrowed());
}

TEST(LinearCrossEntropy, NamesALabelOutsideTheVocabulary) {
  const auto labels = at::full({5}, 6, at::kLong);

  EXPECT_THROW(loss_of({values({5, 4}, 1), values({6, 4}, 2)}, labels), c10::IndexError);
}

TEST(LinearCrossEntropy, GradientsMatchCentralDifferences) {
  const auto labels = at::tensor({1, -100, 4}, at::kLong);

  d9d::test::gradcheck([&](const Tensors& in) -> Tensors { return {loss_of(in, labels)}; },
                       {values({3, 4}, 1), values({5, 4}, 2)});
}
