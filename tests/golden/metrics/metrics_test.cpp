#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/auroc.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/metric/confusion_builder.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

Json golden_case(const std::string& name) {
  return Json::parse(std::ifstream(D9D_SOURCE_DIR "/tests/golden/metrics/expect.json")).at(name);
}

// Each rank counts its samples in two batches; the states are reduced as the collectives do it.
template <class One>
MetricValues values_on_the_union(const Json& golden, std::size_t width_of_predictions,
                                 std::size_t width_of_targets,
                                 const std::function<std::unique_ptr<One>()>& make) {
  std::vector<double> reduced;
  std::unique_ptr<One> metric;
  for (const Json& rank : golden.at("ranks")) {
    metric = make();
    const auto predictions = rank.at("predictions").get<std::vector<double>>();
    const auto targets = rank.at("targets").get<std::vector<std::int64_t>>();
    const std::size_t samples = targets.size() / width_of_targets;
    const std::size_t half = samples / 3;
    const std::span all_predictions(predictions);
    const std::span all_targets(targets);
    metric->update(all_predictions.first(half * width_of_predictions),
                   all_targets.first(half * width_of_targets));
    metric->update(all_predictions.subspan(half * width_of_predictions),
                   all_targets.subspan(half * width_of_targets));
    if (reduced.empty()) {
      reduced = metric->state();
    } else {
      combine_states(metric->layout(), reduced, metric->state());
    }
  }
  return metric->compute(reduced);
}

struct Problem {
  std::string name;
  std::size_t targets;  // of a sample
  std::function<ConfusionMatrixBuilder()> builder;
};

void expect_as_scikit_learn(const Problem& problem, const std::string& score,
                            const std::function<void(ConfusionMatrixBuilder&)>& choose) {
  const Json golden = golden_case(problem.name);
  const Json& expected = golden.at("expected").at(score);
  const auto values =
      values_on_the_union<ConfusionMatrix>(golden, problem.name == "binary" ? 1 : 4, problem.targets, [&] {
        ConfusionMatrixBuilder builder = problem.builder();
        choose(builder);
        return builder.build();
      });
  if (!expected.is_array()) {
    ASSERT_EQ(values.size(), 1U) << problem.name << " " << score;
    EXPECT_NEAR(values.front().second, expected.get<double>(), 1e-12) << problem.name << " " << score;
    return;
  }
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i].second, expected[i].get<double>(), 1e-12)
        << problem.name << " " << score << " " << i;
  }
}

TEST(GoldenMetrics, OfBinaryClassifiersAreThoseOfScikitLearn) {
  const Problem binary{"binary", 1, [] { return ConfusionMatrixBuilder().binary(); }};
  expect_as_scikit_learn(binary, "accuracy", [](auto& builder) { builder.accuracy(); });
  expect_as_scikit_learn(binary, "precision", [](auto& builder) { builder.precision(); });
  expect_as_scikit_learn(binary, "recall", [](auto& builder) { builder.recall(); });
  expect_as_scikit_learn(binary, "f1", [](auto& builder) { builder.f1(); });
  expect_as_scikit_learn(binary, "fbeta2", [](auto& builder) { builder.fbeta(2); });
}

TEST(GoldenMetrics, OfSeveralClassesAndLabelsAreThoseOfScikitLearn) {
  const Problem multiclass{"multiclass", 1, [] { return ConfusionMatrixBuilder().multiclass(4); }};
  const Problem multilabel{"multilabel", 4, [] { return ConfusionMatrixBuilder().multilabel(4); }};
  using Choose = std::function<void(ConfusionMatrixBuilder&)>;
  const std::map<std::string, Choose> scores{{"precision", [](auto& builder) { builder.precision(); }},
                                             {"recall", [](auto& builder) { builder.recall(); }},
                                             {"f1", [](auto& builder) { builder.f1(); }}};
  const std::map<std::string, Choose> averages{{"micro", [](auto& builder) { builder.micro(); }},
                                               {"macro", [](auto& builder) { builder.macro(); }},
                                               {"weighted", [](auto& builder) { builder.weighted(); }},
                                               {"per_class", [](auto& builder) { builder.per_class(); }}};
  for (const Problem& problem : {multiclass, multilabel}) {
    for (const auto& [score, choose_score] : scores) {
      for (const auto& [average, choose_average] : averages) {
        expect_as_scikit_learn(problem, score + "/" + average, [&](ConfusionMatrixBuilder& builder) {
          choose_score(builder);
          choose_average(builder);
        });
      }
    }
  }
  const Problem top2{"multiclass", 1, [] { return ConfusionMatrixBuilder().multiclass(4, 2); }};
  expect_as_scikit_learn(top2, "top2", [](auto& builder) { builder.recall(); });
}

// Pairs that share a bin count half: the error is bounded by the share of such pairs.
TEST(GoldenMetrics, AurocIsThatOfScikitLearnButForItsBins) {
  const Json golden = golden_case("binary");
  const auto values =
      values_on_the_union<BinaryAuroc>(golden, 1, 1, [] { return std::make_unique<BinaryAuroc>(1'000'000); });
  EXPECT_NEAR(values.front().second, golden.at("expected").at("auroc").get<double>(), 1e-4);
}

TEST(GoldenMetrics, PerplexityIsTheExponentialOfTheMeanOverAllTokens) {
  const Json golden = golden_case("perplexity");
  std::vector<double> reduced{0, 0};
  for (const Json& rank : golden.at("ranks")) {
    Perplexity perplexity;
    double sum = 0;
    for (const Json& probability : rank.at("predictions")) sum -= std::log(probability.get<double>());
    const auto tokens = static_cast<double>(rank.at("predictions").size());
    perplexity.update(sum / tokens, tokens);
    combine_states(perplexity.layout(), reduced, perplexity.state());
  }
  EXPECT_NEAR(Perplexity().compute(reduced).front().second,
              golden.at("expected").at("perplexity").get<double>(), 1e-9);
}

}  // namespace
}  // namespace d9d
