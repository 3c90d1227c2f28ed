#include "runtime/report/chart/chart_facts.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace d9d::report {
namespace {

TEST(ChartFacts, NameTheEndsAndTheExtremes) {
  EXPECT_EQ(facts_of({"loss", {10, 20, 30}, {4, 2.5, 3}}),
            "first 4, last 3; lowest 2.5 at step 20, highest 4 at step 10");
  EXPECT_EQ(facts_of({"lr", {1, 2}, {0.1, 0.1}}), "0.1 throughout");
}

TEST(ChartFacts, AreShorterForOneOfSeveralLines) {
  EXPECT_EQ(brief_facts_of({"layer_0", {1, 2, 3}, {3.5, 1, 2}}), "3.5 \u2192 2 (1 to 3.5)");
  EXPECT_EQ(brief_facts_of({"layer_1", {1, 2}, {4, 4}}), "4 throughout");
}

TEST(ChartFacts, CountStepsWithoutANumber) {
  const Curve curve{"loss", {1, 2, 3}, {std::nan(""), 2, std::nan("")}};

  EXPECT_EQ(facts_of(curve), "2 throughout; no finite number at 2 steps: 1, 3");
  EXPECT_THAT(steps_without_number(curve), testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace d9d::report
