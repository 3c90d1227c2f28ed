#include "runtime/pipeline/stage/stage_losses.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(StageLosses, AreAddedByTheirWeights) {
  const StageTotals totals = totals_of({2.0, 0.5}, {3.0, 4.0}), none = totals_of({}, {});

  EXPECT_EQ(totals.loss_sum, 8.0);
  EXPECT_EQ(totals.weight_sum, 7.0);
  EXPECT_EQ(none.loss_sum, 0);
  EXPECT_EQ(none.weight_sum, 0);
}

}  // namespace
}  // namespace d9d
