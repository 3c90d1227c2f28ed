#include "runtime/metric/auroc.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {

BinaryAuroc::BinaryAuroc(std::size_t num_bins) : SumsMetric(2 * num_bins), num_bins_(num_bins) {
  D9D_REQUIRE(num_bins >= 1, "a histogram of 0 bins; give at least 1, better 10000");
}

void BinaryAuroc::update(std::span<const double> probabilities, std::span<const std::int64_t> labels) {
  D9D_REQUIRE(probabilities.size() == labels.size(), "{} probabilities for {} labels; expected as many",
              probabilities.size(), labels.size());
  // All are checked before one is counted: a refused batch leaves the counts as they were.
  for (std::size_t i = 0; i < labels.size(); ++i) {
    D9D_REQUIRE(labels[i] == 0 || labels[i] == 1, "label {} of a binary classifier; expected 0 or 1",
                labels[i]);
    D9D_REQUIRE(!std::isnan(probabilities[i]), "the probability of sample {} is NaN", i);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double clamped = std::clamp(probabilities[i], 0.0, 1.0);
    const auto bin =
        std::min(static_cast<std::size_t>(clamped * static_cast<double>(num_bins_)), num_bins_ - 1);
    ++sums_[(labels[i] == 1 ? num_bins_ : 0) + bin];
  }
}

MetricValues BinaryAuroc::compute(std::span<const double> state) const {
  D9D_CHECK(state.size() == sums_.size(), "a state of {} counts for {} bins", state.size(), num_bins_);
  double negatives = 0, positives = 0, ordered_pairs = 0;
  for (std::size_t bin = 0; bin < num_bins_; ++bin) {
    const double negatives_here = state[bin], positives_here = state[num_bins_ + bin];
    // Nobody knows the order within a bin, so half of its pairs count.
    ordered_pairs += positives_here * (negatives + 0.5 * negatives_here);
    negatives += negatives_here;
    positives += positives_here;
  }
  const bool both = negatives > 0 && positives > 0;
  return {{"", both ? ordered_pairs / negatives / positives : 0.5}};
}

}  // namespace d9d
