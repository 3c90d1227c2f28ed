#include "runtime/metric/step_ledger.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(StepLedger, IsCompleteWhenTheStepAndItsPromisedMetricsAreThere) {
  StepLedger ledger(0);
  EXPECT_FALSE(ledger.complete(1));

  ledger.finished(1, true);
  EXPECT_FALSE(ledger.complete(1));
  ledger.metrics(1);

  EXPECT_TRUE(ledger.complete(1));
  EXPECT_FALSE(ledger.complete(2));
}

TEST(StepLedger, WaitsForNoMetricsThatNobodyPromised) {
  StepLedger ledger(0);

  ledger.finished(1, false);

  EXPECT_TRUE(ledger.complete(1));
}

TEST(StepLedger, TakesMetricsThatOvertakeTheirStep) {
  StepLedger ledger(0);

  ledger.metrics(1);
  EXPECT_FALSE(ledger.complete(1));
  ledger.finished(1, true);

  EXPECT_TRUE(ledger.complete(1));
}

TEST(StepLedger, HoldsAnEarlierStepCompleteWhileALaterOneIsNot) {
  StepLedger ledger(0);
  for (const std::uint64_t step : {1, 2, 3}) ledger.finished(step, true);

  ledger.metrics(1);
  ledger.metrics(3);

  EXPECT_TRUE(ledger.complete(1));
  EXPECT_FALSE(ledger.complete(2));
  EXPECT_FALSE(ledger.complete(3)) << "metrics of step 2 are missing";
}

TEST(StepLedger, HasNothingToWaitForUpToTheResumedStep) {
  EXPECT_TRUE(StepLedger(7).complete(5));
  EXPECT_FALSE(StepLedger(7).complete(8));
}

TEST(StepLedger, WaitsForTheMetricsOfAnEvaluationToo) {
  StepLedger ledger(0);
  ledger.finished(1, true);
  ledger.evaluated(1);
  ledger.metrics(1);
  EXPECT_FALSE(ledger.complete(1));

  ledger.metrics(1, true);

  EXPECT_TRUE(ledger.complete(1));
}

}  // namespace
}  // namespace d9d
