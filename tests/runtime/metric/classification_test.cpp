#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/metric/auroc.hpp"
#include "runtime/metric/confusion_builder.hpp"

namespace d9d {
namespace {

double single(const MetricValues& values) {
  EXPECT_EQ(values.size(), 1U);
  return values.at(0).second;
}

using Doubles = std::vector<double>;
using Labels = std::vector<std::int64_t>;

TEST(BinaryAuroc, AgreesWithCountingEveryPair) {
  const RandomStream random(3, "auroc");
  Doubles probabilities;
  Labels labels;
  for (std::uint64_t i = 0; i < 600; ++i) {
    labels.push_back(static_cast<std::int64_t>(random.below(2 * i, 3) == 0));
    probabilities.push_back(0.7 * random.uniform(2 * i + 1) + 0.3 * static_cast<double>(labels.back()));
  }
  double pairs = 0, right = 0;
  for (std::size_t p = 0; p < labels.size(); ++p) {
    for (std::size_t n = 0; n < labels.size(); ++n) {
      if (labels[p] != 1 || labels[n] != 0) continue;
      ++pairs;
      right += probabilities[p] > probabilities[n] ? 1 : probabilities[p] == probabilities[n] ? 0.5 : 0;
    }
  }

  BinaryAuroc auroc;
  auroc.update(probabilities, labels);

  EXPECT_NEAR(single(auroc.compute()), right / pairs, 1e-4);
}

TEST(BinaryAuroc, GivesHalfToPairsOfOneBinAndToAMissingClass) {
  BinaryAuroc auroc(10);
  EXPECT_EQ(single(auroc.compute()), 0.5);

  auroc.update(Doubles{0.95, 1.0, 7.0}, Labels{1, 0, 0});
  EXPECT_EQ(single(auroc.compute()), 0.5);
  auroc.reset();
  auroc.update(Doubles{0.9}, Labels{1});
  EXPECT_EQ(single(auroc.compute()), 0.5);
}

TEST(BinaryAuroc, RefusesWhatItCannotCount) {
  BinaryAuroc auroc;

  EXPECT_THROW(auroc.update(Doubles{0.1}, Labels{0, 1}), Error);
  EXPECT_THROW(auroc.update(Doubles{0.1, 0.2}, Labels{0, 2}), Error);
  EXPECT_THROW(auroc.update(Doubles{0.1, std::nan("")}, Labels{0, 1}), Error);

  EXPECT_EQ(auroc.state(), Doubles(20'000, 0.0));
}

TEST(ConfusionMatrix, CountsABinaryProblem) {
  const auto metric = ConfusionMatrixBuilder().binary(0.5).precision().build();

  metric->update(Doubles{0.9, 0.8, 0.6, 0.5, 0.1}, Labels{1, 0, 1, 1, 0});

  EXPECT_EQ(metric->state(), (Doubles{2, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(single(metric->compute()), 2.0 / 3);
}

// 4 samples of 3 classes; predictions are 0, 1, 1, 0, targets 0, 1, 2, 0.
const Doubles scores{.7, .2, .1, .1, .8, .1, .2, .5, .3, .6, .3, .1};
const Labels targets{0, 1, 2, 0};

TEST(ConfusionMatrix, AggregatesClassesInFourWays) {
  const auto value_of = [](ConfusionMatrixBuilder builder) {
    const auto metric = builder.multiclass(3).recall().build();
    metric->update(scores, targets);
    return metric->compute();
  };

  EXPECT_DOUBLE_EQ(single(value_of(ConfusionMatrixBuilder().micro())), 3.0 / 4);
  EXPECT_DOUBLE_EQ(single(value_of(ConfusionMatrixBuilder().macro())), 2.0 / 3);
  EXPECT_DOUBLE_EQ(single(value_of(ConfusionMatrixBuilder().weighted())), 3.0 / 4);
  EXPECT_EQ(value_of(ConfusionMatrixBuilder().per_class()),
            (MetricValues{{"0", 1.0}, {"1", 1.0}, {"2", 0.0}}));
}

TEST(ConfusionMatrix, LeavesAZeroDenominatorAsNaN) {
  const auto metric = ConfusionMatrixBuilder().multiclass(3).precision().per_class().build();

  metric->update(scores, targets);

  EXPECT_TRUE(std::isnan(metric->compute().at(2).second));
}

TEST(ConfusionMatrix, WeighsRecallAndPrecisionByBeta) {
  const auto f1 = ConfusionMatrixBuilder().binary().f1().build();
  const auto f2 = ConfusionMatrixBuilder().binary().fbeta(2).build();
  for (auto* metric : {f1.get(), f2.get()}) metric->update(Doubles{1, 1, 1, 0}, Labels{1, 0, 0, 1});

  const double precision = 1.0 / 3, recall = 0.5;
  EXPECT_DOUBLE_EQ(single(f1->compute()), 2 * precision * recall / (precision + recall));
  EXPECT_DOUBLE_EQ(single(f2->compute()), 5 * precision * recall / (4 * precision + recall));
}

TEST(ConfusionMatrix, TakesTargetsAsIndexOrOneHot) {
  const auto by_index = ConfusionMatrixBuilder().multiclass(3).accuracy().micro().build();
  const auto one_hot = ConfusionMatrixBuilder().multiclass(3).accuracy().micro().build();

  by_index->update(scores, targets);
  one_hot->update(scores, Labels{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0});

  EXPECT_EQ(by_index->state(), one_hot->state());
}

TEST(ConfusionMatrix, CountsAHitAmongTheTopK) {
  const auto metric = ConfusionMatrixBuilder().multiclass(3, 2).accuracy().build();

  metric->update(scores, Labels{1, 2, 2, 2});

  EXPECT_EQ(metric->state(), (Doubles{2, 0, 0, 2}));
  EXPECT_DOUBLE_EQ(single(metric->compute()), 0.5);
}

TEST(ConfusionMatrix, CountsEachLabelOfItsOwn) {
  const auto metric = ConfusionMatrixBuilder().multilabel(2).accuracy().per_class().build();

  metric->update(Doubles{.9, .1, .9, .9}, Labels{1, 0, 1, 0});

  EXPECT_EQ(metric->compute(), (MetricValues{{"0", 1.0}, {"1", 0.5}}));
}

TEST(ConfusionMatrix, TakesAStatisticOfTheUsers) {
  const auto metric = ConfusionMatrixBuilder()
                          .binary()
                          .statistic([](const Confusion& c) { return c.false_positive; })
                          .build();

  metric->update(Doubles{1, 1}, Labels{0, 0});

  EXPECT_EQ(single(metric->compute()), 2);
}

TEST(ConfusionMatrix, RefusesHalfAChoiceOrTwo) {
  EXPECT_THROW(ConfusionMatrixBuilder().accuracy().micro().build(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().multiclass(3).micro().build(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().multiclass(3).accuracy().build(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().binary().accuracy().macro().build(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().binary().multiclass(3), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().f1().recall(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().micro().macro(), Error);
  EXPECT_THROW(ConfusionMatrixBuilder().multiclass(3, 4), Error);
}

TEST(ConfusionMatrix, RefusesShapesAndTargetsThatDoNotFit) {
  const auto metric = ConfusionMatrixBuilder().multiclass(3).accuracy().micro().build();

  EXPECT_THROW(metric->update(Doubles{1, 2}, Labels{0}), Error);
  EXPECT_THROW(metric->update(Doubles{1, 2, 3}, Labels{0, 1}), Error);
  EXPECT_THROW(metric->update(Doubles{1, 2, 3}, Labels{3}), Error);
  EXPECT_THROW(metric->update(Doubles{1, 2, 3}, Labels{1, 1, 0}), Error);

  EXPECT_EQ(metric->state(), Doubles(12, 0.0));
}

}  // namespace
}  // namespace d9d
