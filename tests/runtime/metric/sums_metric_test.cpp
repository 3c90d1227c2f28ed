#include "runtime/metric/sums_metric.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Share final : SumsMetric {
  Share() : SumsMetric(2) {}
  MetricValues compute(std::span<const double> sums) const override { return {{"", sums[0] / sums[1]}}; }
  using SumsMetric::compute;
};

TEST(SumsMetric, AddsUpReducesAndStartsAnew) {
  Share one, other;
  one.add({1, 4});
  one.add({2, 2});
  other.load(one.state());
  other.add({0, 6});

  EXPECT_EQ(one.compute()[0].second, 0.5);
  EXPECT_EQ(other.compute()[0].second, 0.25);
  EXPECT_THAT(one.layout(), ::testing::ElementsAre(ReduceOp::sum, ReduceOp::sum));
  one.reset();
  EXPECT_THAT(one.state(), ::testing::ElementsAre(0, 0));
}

TEST(SumsMetric, RefusesAnotherNumberOfValues) {
  Share share;

  EXPECT_THROW(share.add({1}), Error);
  EXPECT_THROW(share.load(std::vector<double>{1, 2, 3}), Error);
}

}  // namespace
}  // namespace d9d
