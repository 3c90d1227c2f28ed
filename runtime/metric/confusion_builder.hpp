#pragma once
// A confusion matrix, chosen step by step: ConfusionMatrixBuilder().multiclass(5).f1().macro().build()
// One problem, one statistic and one aggregation; a binary problem and top-k choose micro themselves.
// Something given twice or not at all is an input error that names it.

#include "runtime/metric/confusion_matrix.hpp"

namespace d9d {

class ConfusionMatrixBuilder {
 public:
  ConfusionMatrixBuilder& binary(double threshold = 0.5);
  ConfusionMatrixBuilder& multiclass(std::size_t num_classes,
                                     std::optional<std::size_t> top_k = std::nullopt);
  ConfusionMatrixBuilder& multilabel(std::size_t num_classes, double threshold = 0.5);

  ConfusionMatrixBuilder& accuracy();  // (TP + TN) / all
  ConfusionMatrixBuilder& precision();
  ConfusionMatrixBuilder& recall();
  ConfusionMatrixBuilder& f1() { return fbeta(1.0); }
  ConfusionMatrixBuilder& fbeta(double beta);
  ConfusionMatrixBuilder& statistic(ConfusionStatistic statistic);

  ConfusionMatrixBuilder& micro() { return aggregate(ConfusionAggregation::micro); }
  ConfusionMatrixBuilder& macro() { return aggregate(ConfusionAggregation::macro); }
  ConfusionMatrixBuilder& weighted() { return aggregate(ConfusionAggregation::weighted); }
  ConfusionMatrixBuilder& per_class() { return aggregate(ConfusionAggregation::per_class); }

  std::unique_ptr<ConfusionMatrix> build() const;

 private:
  ConfusionMatrixBuilder& problem(ConfusionProblem problem);
  ConfusionMatrixBuilder& aggregate(ConfusionAggregation aggregation);

  std::optional<ConfusionProblem> problem_;
  ConfusionStatistic statistic_;
  std::optional<ConfusionAggregation> aggregation_;
};

}  // namespace d9d
