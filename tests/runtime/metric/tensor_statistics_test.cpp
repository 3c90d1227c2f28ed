#include "runtime/metric/tensor_statistics.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace d9d {
namespace {

using testing::ElementsAre;

TensorCounts counts_in_bin(std::size_t bin, double value, double elements) {
  TensorCounts counts{.elements = elements,
                      .sum = value * elements,
                      .sum_of_squares = value * value * elements,
                      .largest = std::abs(value)};
  counts.bins.assign(magnitude_edges().size() - 1, 0.0);
  counts.bins[bin] = elements;
  return counts;
}

std::map<std::string, double> by_name(const MetricValues& values) {
  return {values.begin(), values.end()};
}

TEST(TensorStatistics, OfAllRanksAreThoseOfAllElements) {
  const auto bin =
      static_cast<std::size_t>(std::ranges::find(magnitude_edges(), 1.0) - magnitude_edges().begin());
  TensorStatistics first({"a", "b"}, true);
  TensorStatistics second({"a", "b"}, true);
  first.update(0, WatchedKind::gradient, counts_in_bin(bin, 1, 3));
  second.update(0, WatchedKind::gradient, counts_in_bin(bin + 1, 2, 1));
  TensorCounts broken = counts_in_bin(bin, 1, 0);
  broken.not_finite = 5;
  second.update(1, WatchedKind::parameter, broken);
  std::vector<double> reduced = first.state();
  combine_states(first.layout(), reduced, second.state());

  auto values = by_name(first.compute(reduced));

  EXPECT_DOUBLE_EQ(values["a/gradient_norm"], std::sqrt(7));
  EXPECT_DOUBLE_EQ(values["a/gradient_mean"], 5.0 / 4);
  EXPECT_EQ(values["a/gradient_max"], 2);
  EXPECT_EQ(values["a/gradient_not_finite"], 0);
  EXPECT_EQ(values["b/parameter_not_finite"], 5);
  EXPECT_TRUE(std::isnan(values["a/parameter_norm"])) << "nothing was counted";
  const auto histograms = first.histograms(reduced);
  ASSERT_EQ(histograms.size(), 1U);
  EXPECT_EQ(histograms[0].name, "a/gradient");
  EXPECT_THAT(histograms[0].edges, ElementsAre(1, 2, 4));
  EXPECT_THAT(histograms[0].counts, ElementsAre(3, 1));
  EXPECT_TRUE(TensorStatistics({"a", "b"}, false).histograms(reduced).empty());
}

TEST(TensorStatistics, StartNeutralAndAnew) {
  TensorStatistics statistics({"a"}, false);
  const std::vector<double> fresh = statistics.state();
  for (std::size_t i = 0; i < fresh.size(); ++i) EXPECT_EQ(fresh[i], neutral(statistics.layout()[i])) << i;
  statistics.update(0, WatchedKind::gradient, counts_in_bin(0, -300, 1));
  TensorStatistics loaded({"a"}, false);
  loaded.load(statistics.state());
  EXPECT_EQ(loaded.state(), statistics.state());
  statistics.reset();
  EXPECT_EQ(statistics.state(), fresh);
}

}  // namespace
}  // namespace d9d
