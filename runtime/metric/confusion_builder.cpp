#include "runtime/metric/confusion_builder.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

ConfusionMatrixBuilder& ConfusionMatrixBuilder::problem(ConfusionProblem problem) {
  D9D_REQUIRE(!problem_,
              "a confusion matrix with two problem types; choose one of binary, multiclass, multilabel");
  problem_ = problem;
  return *this;
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::binary(double threshold) {
  return problem({ConfusionProblem::Kind::binary, 1, threshold, std::nullopt});
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::multiclass(std::size_t num_classes,
                                                           std::optional<std::size_t> top_k) {
  D9D_REQUIRE(num_classes >= 2, "{} classes; a multiclass problem has at least 2", num_classes);
  D9D_REQUIRE(!top_k || (*top_k >= 1 && *top_k <= num_classes), "top_k {} of {} classes", *top_k,
              num_classes);
  return problem({ConfusionProblem::Kind::multiclass, num_classes, 0.5, top_k});
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::multilabel(std::size_t num_classes, double threshold) {
  D9D_REQUIRE(num_classes >= 1, "a multilabel problem has at least 1 label");
  return problem({ConfusionProblem::Kind::multilabel, num_classes, threshold, std::nullopt});
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::statistic(ConfusionStatistic statistic) {
  D9D_REQUIRE(!statistic_, "a confusion matrix with two statistics; choose one");
  statistic_ = std::move(statistic);
  return *this;
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::accuracy() {
  return statistic([](const Confusion& c) {
    const double right = c.true_positive + c.true_negative;
    return right / (right + c.false_positive + c.false_negative);
  });
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::precision() {
  return statistic([](const Confusion& c) { return c.true_positive / (c.true_positive + c.false_positive); });
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::recall() {
  return statistic([](const Confusion& c) { return c.true_positive / (c.true_positive + c.false_negative); });
}

// C. J. van Rijsbergen, "Information Retrieval", 1979, chapter 7, in the form of counts.
ConfusionMatrixBuilder& ConfusionMatrixBuilder::fbeta(double beta) {
  return statistic([square = beta * beta](const Confusion& c) {
    const double right = (1 + square) * c.true_positive;
    return right / (right + square * c.false_negative + c.false_positive);
  });
}

ConfusionMatrixBuilder& ConfusionMatrixBuilder::aggregate(ConfusionAggregation aggregation) {
  D9D_REQUIRE(!aggregation_, "a confusion matrix with two aggregations; choose one");
  aggregation_ = aggregation;
  return *this;
}

std::unique_ptr<ConfusionMatrix> ConfusionMatrixBuilder::build() const {
  D9D_REQUIRE(problem_, "a confusion matrix without a problem type; choose binary, multiclass or multilabel");
  D9D_REQUIRE(statistic_,
              "a confusion matrix without a statistic; choose accuracy, precision, recall, f1, fbeta");
  const bool chooses_itself =
      problem_->num_outputs() == 1 &&
      (problem_->kind == ConfusionProblem::Kind::binary || problem_->top_k.has_value());
  // Over one output all aggregations are the same, so that asking for one is a misunderstanding.
  D9D_REQUIRE(!chooses_itself || !aggregation_,
              "a binary or top-k problem has one output and chooses micro itself");
  D9D_REQUIRE(chooses_itself || aggregation_,
              "a confusion matrix without an aggregation; choose micro, macro, weighted or per_class");
  return std::make_unique<ConfusionMatrix>(*problem_, statistic_,
                                           aggregation_.value_or(ConfusionAggregation::micro));
}

}  // namespace d9d
