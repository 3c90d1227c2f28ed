#include "kernels/cross_entropy.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/graph/weight_work.hpp"
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

at::ScalarType loss_dtype(const at::Tensor& hidden) {
  return hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor labels_with_holes(int64_t tokens, int64_t vocabulary) {
  auto labels = integers({tokens}, vocabulary, 5);
  for (int64_t t = 0; t < tokens; t += 3) labels[t] = -100;
  return labels;
}

constexpr int64_t vocabulary_cuts[] = {0, 11, 40, 43};  // of a vocabulary of 43 in three parts

// Largest logit, sum of exponentials and label logit of one part, for tokens that count.
at::Tensor statistics(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                      int part) {
  const int64_t first = vocabulary_cuts[part], rows = vocabulary_cuts[part + 1] - first;
  const auto logits = at::linear(hidden.to(at::kDouble), weight.narrow(0, first, rows).to(at::kDouble));
  const auto own = labels.ge(first).logical_and(labels.lt(first + rows));
  const auto at_label = logits.gather(1, (labels - first).clamp(0, rows - 1).unsqueeze(1)).squeeze(1) * own;
  const auto largest = logits.amax(1);
  return at::stack({largest, (logits - largest.unsqueeze(1)).exp().sum(1), at_label});
}

// The losses of every part, each with what the others would say; their hidden gradients meet in hidden.
Tensors losses_of_parts(const Tensors& in, const at::Tensor& labels) {
  const auto counted = labels.ne(-100).nonzero().squeeze(1);
  const auto hidden = in[0].detach().index_select(0, counted), targets = labels.index_select(0, counted);
  Tensors losses;
  for (int mine = 0; mine < 3; ++mine) {
    int64_t first = 0;
    const auto gather = [&, first](const at::Tensor& own) mutable {
      const auto rows = hidden.narrow(0, first, own.size(1)), label = targets.narrow(0, first, own.size(1));
      first += own.size(1);
      Tensors all;
      for (int part = 0; part < 3; ++part)
        all.push_back(part == mine ? own : statistics(rows, in[1].detach(), label, part).to(own));
      return at::stack(all);
    };
    const auto weight =
        in[1].narrow(0, vocabulary_cuts[mine], vocabulary_cuts[mine + 1] - vocabulary_cuts[mine]);
    losses.push_back(d9d::kernels::linear_cross_entropy_of_part(in[0], weight, labels,
                                                                {vocabulary_cuts[mine], 43, gather}));
  }
  return losses;
}

// The loss, with the gradients that the parts have together.
at::Tensor loss_of_parts(const Tensors& in, const at::Tensor& labels, const at::Tensor& factor) {
  const auto losses = losses_of_parts(in, labels);
  const auto rest = losses[1] + losses[2];
  return ((losses[0] + rest - rest.detach()) * factor).sum();
}

}  // namespace

TEST(LinearCrossEntropy, OfPartsGivesEachTheLossOfTheWhole) {
  const auto labels = labels_with_holes(600, 43);
  const auto hidden = values({600, 19}, 1, at::kFloat), weight = values({43, 19}, 2, at::kFloat);

  const auto losses = losses_of_parts({hidden, weight}, labels);

  for (const auto& loss : losses)
    d9d::test::expect_close(loss, reference_loss({hidden, weight}, labels), 1e-6, "loss");
}

TEST(LinearCrossEntropy, GradientsOfPartsAreThoseOfTheWhole) {
  for (const int64_t tokens : {1, 10, 600}) {
    const auto labels = labels_with_holes(tokens, 43);
    for (const auto& factor : {values({tokens}, 4), at::full({tokens}, 0.25, at::kDouble)}) {
      d9d::test::expect_matches_in_every_dtype(
          [&](const Tensors& in) -> Tensors {
            return {loss_of_parts(in, labels,
                                  factor.to(in[0].dtype() == at::kDouble ? at::kDouble : at::kFloat))};
          },
          [&](const Tensors& in) -> Tensors { return {(reference_loss(in, labels) * factor).sum()}; },
          {values({tokens, 19}, 1), values({43, 19}, 2)});
    }
  }
}

TEST(LinearCrossEntropy, OfPartsSurvivesPartsFarBelowTheLargestLogit) {
  const auto labels = integers({9}, 43, 5);
  const auto factor = at::ones({9}, at::kFloat);

  d9d::test::expect_matches([&](const Tensors& in) -> Tensors { return {loss_of_parts(in, labels, factor)}; },
                            [&](const Tensors& in) -> Tensors { return {reference_loss(in, labels).sum()}; },
                            {values({9, 19}, 1) * 100, values({43, 19}, 2) * 10}, at::kFloat);
}

// A vocabulary in three tables, by rows.
Tensors tables_of(const at::Tensor& weight) {
  Tensors tables;
  for (int part = 0; part < 3; ++part) {
    tables.push_back(
        weight.narrow(0, vocabulary_cuts[part], vocabulary_cuts[part + 1] - vocabulary_cuts[part]));
  }
  return tables;
}

TEST(LinearCrossEntropy, OfSeveralTablesIsThatOfOne) {
  for (const int64_t tokens : {1, 10, 300}) {
    const auto labels = labels_with_holes(tokens, 43);
    for (const auto& factor : {values({tokens}, 4), at::full({tokens}, 0.25, at::kDouble)}) {
      d9d::test::expect_matches_in_every_dtype(
          [&](const Tensors& in) -> Tensors {
            const auto loss = d9d::kernels::linear_cross_entropy(in[0], tables_of(in[1]), labels);
            return {(loss * factor.to(loss.scalar_type())).sum()};
          },
          [&](const Tensors& in) -> Tensors { return {(reference_loss(in, labels) * factor).sum()}; },
          {values({tokens, 19}, 1), values({43, 19}, 2)});
    }
  }
}

TEST(LinearCrossEntropy, GivesAFrozenTableNoGradient) {
  const auto labels = labels_with_holes(50, 43);
  const auto hidden = values({50, 19}, 1), weight = values({43, 19}, 2);
  const auto whole = weight.clone().requires_grad_();
  reference_loss({hidden, whole}, labels).sum().backward();
  Tensors tables = tables_of(weight);
  for (at::Tensor& table : tables) table = table.clone();
  for (const int trained : {0, 2}) tables[static_cast<std::size_t>(trained)].requires_grad_();

  d9d::kernels::linear_cross_entropy(hidden, tables, labels).sum().backward();

  EXPECT_FALSE(tables[1].grad().defined());
  for (const std::size_t trained : {0, 2})
    d9d::test::expect_close(tables[trained].grad(), tables_of(whole.grad())[trained], 1e-12, "gradient");
}

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

  const auto is_borrowed = [&] {
    const bool borrowed = !work->slot()->borrow({1}, at::kFloat).defined();
    if (!borrowed) work->slot()->give_back();
    return borrowed;
  };

  auto first = loss_of({hidden, weight}, labels).sum();
  EXPECT_TRUE(is_borrowed());
  first.backward();
  EXPECT_FALSE(is_borrowed());

  { const auto dropped = loss_of({hidden, weight}, labels); }
  EXPECT_FALSE(is_borrowed());
}

// Whose logits are computed some columns after the other.
constexpr int64_t long_vocabulary = 66000;

TEST(LinearCrossEntropy, OfALongVocabularyMatchesTheLogits) {
  const at::Tensor weight = values({long_vocabulary, 5}, 2).to(at::kBFloat16).to(at::kDouble);
  for (const double size : {1.0, 200.0}) {
    const auto labels = labels_with_holes(70, long_vocabulary);
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) -> Tensors {
          return {d9d::kernels::linear_cross_entropy(in[0], weight.to(in[0].scalar_type()), labels)};
        },
        [&](const Tensors& in) -> Tensors {
          return {reference_loss({in[0], weight.to(in[0].scalar_type())}, labels)};
        },
        {values({70, 5}, 1) * size});
  }
}

TEST(LinearCrossEntropy, OfALongVocabularyGivesItsRowsTheirGradients) {
  const auto labels = labels_with_holes(30, long_vocabulary);
  const auto hidden = values({30, 3}, 1),
             weight = values({long_vocabulary, 3}, 2).to(at::kBFloat16).to(at::kDouble);
  for (const auto& factor : {values({30}, 4), at::full({30}, 0.25, at::kDouble)}) {
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) -> Tensors {
          const auto loss = d9d::kernels::linear_cross_entropy(
              in[0], {in[1].narrow(0, 0, 30000), in[1].narrow(0, 30000, 36000)}, labels);
          return {(loss * factor.to(loss.scalar_type())).sum()};
        },
        [&](const Tensors& in) -> Tensors { return {(reference_loss(in, labels) * factor).sum()}; },
        {hidden, weight});
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) -> Tensors {
          return {(loss_of(in, labels) * factor.to(loss_dtype(in[0]))).sum()};
        },
        [&](const Tensors& in) -> Tensors { return {(reference_loss(in, labels) * factor).sum()}; },
        {hidden, weight});
  }
}

TEST(LinearCrossEntropy, OfALongVocabularyInTablesIsThatOfOne) {
  const at::Tensor weight = values({long_vocabulary, 5}, 2);
  const auto labels = labels_with_holes(40, long_vocabulary);

  d9d::test::expect_matches(
      [&](const Tensors& in) -> Tensors {
        return {d9d::kernels::linear_cross_entropy(
            in[0], {weight.narrow(0, 0, 1), weight.narrow(0, 1, 40000), weight.narrow(0, 40001, 25999)},
            labels)};
      },
      [&](const Tensors& in) -> Tensors {
        return {reference_loss({in[0], weight}, labels)};
      },
      {values({40, 5}, 1)}, at::kDouble);
}

TEST(LinearCrossEntropy, OfALongVocabularyDoesNotDependOnTheOtherTokens) {
  const at::Tensor weight = values({long_vocabulary, 5}, 2), hidden = values({600, 5}, 1);
  const auto labels = labels_with_holes(600, long_vocabulary);

  const at::Tensor all = d9d::kernels::linear_cross_entropy(hidden, weight, labels);

  const at::Tensor last =
      d9d::kernels::linear_cross_entropy(hidden.narrow(0, 570, 30), weight, labels.narrow(0, 570, 30));
  d9d::test::expect_close(all.narrow(0, 570, 30), last, 1e-12, "loss");
}

// The gradient of a token that the model is sure of is small, and exact all the same.
TEST(LinearCrossEntropy, OfALongVocabularyKeepsSmallGradientsInBfloat16) {
  at::Tensor weight = at::zeros({long_vocabulary, 2}, at::kBFloat16);
  weight[7].copy_(at::tensor({2.0F, 1.0F}));
  const at::Tensor hidden = at::tensor({9.0F, 1.0F}).unsqueeze(0).to(at::kBFloat16).requires_grad_(true);

  d9d::kernels::linear_cross_entropy(hidden, weight, at::tensor({int64_t{7}})).sum().backward();

  const double sure = 1 / (1 + (long_vocabulary - 1) * std::exp(-19.0));
  EXPECT_NEAR(hidden.grad()[0][0].item<double>() / (2 * (sure - 1)), 1, 0.005);
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

namespace {

at::Tensor reference_with_bias(const Tensors& in, const at::Tensor& labels) {
  return at::cross_entropy_loss(at::linear(in[0], in[1], in[2]), labels, {}, at::Reduction::None);
}

at::Tensor loss_with_bias(const Tensors& in, const at::Tensor& labels) {
  return d9d::kernels::linear_cross_entropy(in[0], in[1], labels, -100, in[2]);
}

}  // namespace

// Upstream gradients that differ, and one for all tokens; in one block of tokens, and in several.
TEST(LinearCrossEntropy, WithABiasIsThatOfTheLogits) {
  for (const int64_t tokens : {1, 10, 1100}) {
    const auto labels = labels_with_holes(tokens, 43);
    for (const auto& factor : {values({tokens}, 4), at::full({tokens}, 0.25, at::kDouble)}) {
      d9d::test::expect_matches_in_every_dtype(
          [&](const Tensors& in) -> Tensors {
            return {(loss_with_bias(in, labels) * factor.to(loss_dtype(in[0]))).sum()};
          },
          [&](const Tensors& in) -> Tensors { return {(reference_with_bias(in, labels) * factor).sum()}; },
          {values({tokens, 19}, 1), values({43, 19}, 2), values({43}, 3)});
    }
  }
}

TEST(LinearCrossEntropy, WithABiasOfSeveralTablesIsThatOfOne) {
  const auto labels = labels_with_holes(30, 43);

  for (const auto& factor : {values({30}, 4), at::full({30}, 0.25, at::kDouble)}) {
    d9d::test::expect_matches_in_every_dtype(
        [&](const Tensors& in) -> Tensors {
          const auto loss = d9d::kernels::linear_cross_entropy(in[0], tables_of(in[1]), labels, -100, in[2]);
          return {(loss * factor.to(loss.scalar_type())).sum()};
        },
        [&](const Tensors& in) -> Tensors { return {(reference_with_bias(in, labels) * factor).sum()}; },
        {values({30, 19}, 1), values({43, 19}, 2), values({43}, 3)});
  }
}

// Without a bias its logits would be computed some columns after the other.
TEST(LinearCrossEntropy, WithABiasOfALongVocabularyIsThatOfTheLogits) {
  const auto labels = labels_with_holes(20, long_vocabulary);

  d9d::test::expect_matches(
      [&](const Tensors& in) -> Tensors { return {loss_with_bias(in, labels).sum()}; },
      [&](const Tensors& in) -> Tensors { return {reference_with_bias(in, labels).sum()}; },
      {values({20, 3}, 1), values({long_vocabulary, 3}, 2), values({long_vocabulary}, 3)}, at::kFloat);
}

TEST(LinearCrossEntropy, WithABiasRecomputesWhenTheTemporaryIsTaken) {
  const auto labels = labels_with_holes(70, 43);
  const auto slot = std::make_shared<d9d::kernels::TemporarySlot>();
  slot->borrow({1}, at::kFloat);
  const WeightWork::Scope scope(c10::make_intrusive<WeightWork>(WeightWork::Mode::now, slot));

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {loss_with_bias(in, labels).sum()}; },
      [&](const Tensors& in) -> Tensors { return {reference_with_bias(in, labels).sum()}; },
      {values({70, 19}, 1), values({43, 19}, 2), values({43}, 3)});
}

TEST(LinearCrossEntropy, WithABiasOfIgnoredTokensOnlyIsZeroWithZeroGradients) {
  const auto labels = at::full({5}, -100, at::kLong);

  d9d::test::expect_matches_in_every_dtype(
      [&](const Tensors& in) -> Tensors { return {loss_with_bias(in, labels)}; },
      [&](const Tensors& in) -> Tensors { return {reference_with_bias(in, labels)}; },
      {values({5, 4}, 1), values({6, 4}, 2), values({6}, 3)});
}

TEST(LinearCrossEntropy, NamesABiasThatDoesNotFit) {
  const auto labels = integers({3}, 5, 5);

  EXPECT_THROW(loss_with_bias({values({3, 4}, 1), values({5, 4}, 2), values({4}, 3)}, labels), c10::Error);
}
