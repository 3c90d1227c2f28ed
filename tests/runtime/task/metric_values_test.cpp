#include "runtime/task/metric_values.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

TEST(MetricValues, AreTheElementsRowByRowWhateverTheStridesAndTheDtype) {
  const at::Tensor table = at::arange(6, at::kLong).view({2, 3});

  EXPECT_THAT(integers_of(table.t()), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(numbers_of(table.t().to(at::kBFloat16)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(numbers_of(at::ones({}).requires_grad_()), ElementsAre(1));
}

TEST(MetricValues, AreIntegersOfBoolsAndNotOfFractions) {
  EXPECT_THAT(integers_of(at::ones({2}, at::kBool)), ElementsAre(1, 1));
  EXPECT_THROW(integers_of(at::ones({2})), Error);
}

}  // namespace
}  // namespace d9d
