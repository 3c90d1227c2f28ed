#include "runtime/report/chart/thinning.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace d9d::report {
namespace {

const double nan = std::nan("");

TEST(Thinning, KeepsOutliersAndMeans) {
  std::vector<double> steps(1000), values(1000, 2.0);
  std::iota(steps.begin(), steps.end(), 1.0);
  values[537] = 100;

  const auto buckets = thinned(steps, values, 100);

  ASSERT_EQ(buckets.size(), 100U);
  EXPECT_EQ(buckets[53].high, 100);
  EXPECT_EQ(buckets[53].low, 2);
  EXPECT_DOUBLE_EQ(buckets[53].mean, 11.8);
  EXPECT_DOUBLE_EQ(buckets[53].step, 535.5);
  EXPECT_EQ(buckets[54].high, 2);
}

TEST(Thinning, LeavesOutWhatIsNoNumber) {
  const std::vector<double> steps{1, 2, 3}, values{5, nan, 7};

  const auto buckets = thinned(steps, values, 10);

  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[1].step, 3);
}

TEST(Smoothing, FollowsAStraightLineFromEndToEnd) {
  std::vector<double> values(50);
  std::iota(values.begin(), values.end(), 0.0);

  EXPECT_THAT(smoothed(values, 9), testing::Pointwise(testing::DoubleNear(1e-9), values));
}

TEST(Smoothing, IsAMeanOfNeighboursThatAreNumbers) {
  const std::vector<double> values{0, 3, nan, 6, 0};

  const auto means = smoothed(values, 3);

  EXPECT_DOUBLE_EQ(means[1], 1.5);
  EXPECT_DOUBLE_EQ(means[2], 4.5);
  EXPECT_DOUBLE_EQ(means[3], 3);
}

}  // namespace
}  // namespace d9d::report
