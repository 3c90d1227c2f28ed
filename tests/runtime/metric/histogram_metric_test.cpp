#include "runtime/metric/histogram_metric.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/metric/compose.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

TEST(HistogramMetric, CountsByBinsAndTheRestInTheOutermost) {
  HistogramMetric metric({0, 1, 2, 4});
  for (const double value : {-7.0, 0.0, 1.0, 1.5, 3.9, 4.0, std::nan("")}) metric.update(value);
  metric.update(2, 10);

  EXPECT_THAT(metric.state(), ElementsAre(2, 2, 12));
  EXPECT_TRUE(metric.compute(metric.state()).empty());
}

TEST(HistogramMetric, OfSeveralRanksIsThatOfAllTheirValues) {
  Compose all;
  all.add("lengths", std::make_unique<HistogramMetric>(std::vector<double>{0, 1, 2, 4, 8}));
  std::vector<double> reduced = all.state();
  for (const double value : {1.0, 2.0}) {
    Compose rank;
    rank.add("lengths", std::make_unique<HistogramMetric>(std::vector<double>{0, 1, 2, 4, 8}));
    rank.get<HistogramMetric>("lengths").update(value);
    combine_states(rank.layout(), reduced, rank.state());
  }

  const auto histograms = all.histograms(reduced);

  ASSERT_EQ(histograms.size(), 1U);
  EXPECT_EQ(histograms[0].name, "lengths");
  EXPECT_THAT(histograms[0].edges, ElementsAre(1, 2, 4)) << "without the empty bins at its ends";
  EXPECT_THAT(histograms[0].counts, ElementsAre(1, 1));
  EXPECT_TRUE(all.histograms(all.state()).empty());
}

TEST(HistogramMetric, RefusesEdgesThatDoNotAscend) {
  for (const std::vector<double>& edges : {std::vector<double>{1}, {1, 1}, {2, 1}}) {
    EXPECT_THAT(test::error_of([&] { const HistogramMetric metric(edges); }, ErrorKind::input),
                testing::HasSubstr("expected at least 2, each above the one before"));
  }
}

}  // namespace
}  // namespace d9d
