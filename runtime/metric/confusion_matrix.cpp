#include "runtime/metric/confusion_matrix.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

Confusion confusion_of(std::span<const double> state, std::size_t output) {
  return {state[4 * output], state[4 * output + 1], state[4 * output + 2], state[4 * output + 3]};
}

Confusion total_of(std::span<const double> state) {
  Confusion total;
  for (std::size_t output = 0; 4 * output < state.size(); ++output) {
    const Confusion one = confusion_of(state, output);
    total.true_positive += one.true_positive;
    total.false_positive += one.false_positive;
    total.true_negative += one.true_negative;
    total.false_negative += one.false_negative;
  }
  return total;
}

void require_binary(std::span<const std::int64_t> targets) {
  for (const std::int64_t target : targets) {
    D9D_REQUIRE(target == 0 || target == 1, "target {}; expected 0 or 1", target);
  }
}

// The class that a row of targets names: an index, or the place of the one.
std::size_t target_class(std::span<const std::int64_t> targets, std::size_t num_classes) {
  if (targets.size() == 1) return static_cast<std::size_t>(targets[0]);
  const auto one = std::find(targets.begin(), targets.end(), 1);
  D9D_CHECK(one != targets.end() && targets.size() == num_classes, "targets were not checked");
  return static_cast<std::size_t>(one - targets.begin());
}

void require_classes(std::span<const std::int64_t> targets, std::size_t width, std::size_t num_classes) {
  if (width == 1) {
    for (const std::int64_t target : targets) {
      D9D_REQUIRE(target >= 0 && static_cast<std::size_t>(target) < num_classes, "target {} for {} classes",
                  target, num_classes);
    }
    return;
  }
  require_binary(targets);
  for (std::size_t row = 0; row < targets.size(); row += width) {
    const auto ones = std::count(targets.begin() + row, targets.begin() + row + width, 1);
    D9D_REQUIRE(ones == 1, "a one-hot target has {} ones; expected one", ones);
  }
}

// How many classes score higher (an equal score at a lower index counts as higher): 0 is the prediction.
std::size_t place_of(std::size_t wanted, std::span<const double> scores) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > scores[wanted] || (scores[i] == scores[wanted] && i < wanted)) ++place;
  }
  return place;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(ConfusionProblem problem, ConfusionStatistic statistic,
                                 ConfusionAggregation aggregation)
    : SumsMetric(4 * problem.num_outputs()),
      problem_(problem),
      statistic_(std::move(statistic)),
      aggregation_(aggregation) {}

void ConfusionMatrix::update(std::span<const double> predictions, std::span<const std::int64_t> targets) {
  const std::size_t columns = problem_.num_classes;
  D9D_REQUIRE(predictions.size() % columns == 0, "{} predictions do not fill rows of {} classes",
              predictions.size(), columns);
  const std::size_t rows = predictions.size() / columns;
  const bool is_multiclass = problem_.kind == ConfusionProblem::Kind::multiclass;
  const bool by_index = is_multiclass && targets.size() == rows;
  D9D_REQUIRE(by_index || targets.size() == predictions.size(), "{} targets for {} rows of {} predictions",
              targets.size(), rows, columns);
  const std::size_t width = by_index ? 1 : columns;
  for (const double prediction : predictions) D9D_REQUIRE(!std::isnan(prediction), "a prediction is NaN");
  if (is_multiclass) {
    require_classes(targets, width, columns);
  } else {
    require_binary(targets);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    update_row(predictions.subspan(row * columns, columns), targets.subspan(row * width, width));
  }
}

void ConfusionMatrix::update_row(std::span<const double> scores, std::span<const std::int64_t> targets) {
  if (problem_.kind != ConfusionProblem::Kind::multiclass) {
    for (std::size_t i = 0; i < scores.size(); ++i) count(i, scores[i] > problem_.threshold, targets[i] == 1);
    return;
  }
  const std::size_t target = target_class(targets, scores.size());
  if (problem_.top_k) return count(0, place_of(target, scores) < *problem_.top_k, true);
  const auto predicted =
      static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  for (std::size_t i = 0; i < scores.size(); ++i) count(i, i == predicted, i == target);
}

void ConfusionMatrix::count(std::size_t output, bool predicted, bool target) {
  const std::size_t which = predicted ? (target ? 0 : 1) : (target ? 3 : 2);
  ++sums_[4 * output + which];
}

MetricValues ConfusionMatrix::compute(std::span<const double> state) const {
  D9D_CHECK(state.size() == sums_.size(), "a state of {} counts, expected {}", state.size(), sums_.size());
  if (aggregation_ == ConfusionAggregation::micro) return {{"", statistic_(total_of(state))}};
  MetricValues scores;
  double sum = 0, weights = 0;
  for (std::size_t output = 0; 4 * output < state.size(); ++output) {
    const Confusion one = confusion_of(state, output);
    const double weight =
        aggregation_ == ConfusionAggregation::weighted ? one.true_positive + one.false_negative : 1.0;
    scores.emplace_back(std::to_string(output), statistic_(one));
    sum += weight * scores.back().second;
    weights += weight;
  }
  if (aggregation_ == ConfusionAggregation::per_class) return scores;
  return {{"", sum / weights}};
}

}  // namespace d9d
