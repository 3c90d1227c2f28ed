#include "runtime/state/checkpoint/early_stopping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace d9d {
namespace {

using Values = std::vector<double>;

// The number of the evaluation that ends the job, from 1; 0: none does.
std::size_t ends_with(EarlyStopping stopping, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (stopping.add(10 * (i + 1), values[i])) return i + 1;
  }
  return 0;
}

// By hand, and as EarlyStopping(patience, min_delta, mode) of Lightning counts: stop_after in a row.
TEST(EarlyStopping, EndsAfterSoManyInARowThatAreNoBetter) {
  const EarlyStopping two({.stop_after = 2});

  EXPECT_EQ(ends_with(two, {3, 2, 2.5, 2.4}), 4U);
  EXPECT_EQ(ends_with(two, {3, 2, 2.5, 1.9, 2, 2}), 6U) << "a better one begins the count anew";
  EXPECT_EQ(ends_with(two, {3, 3, 3}), 3U) << "equal is no better";
  EXPECT_EQ(ends_with(two, {3, 2, 1, 0}), 0U);
  EXPECT_EQ(ends_with(EarlyStopping({.stop_after = 1}), {3, 4}), 2U);
}

TEST(EarlyStopping, ALittleBetterThanTheBestIsNoBetter) {
  const EarlyStopping stopping({.stop_after = 2, .min_delta = 0.25});

  EXPECT_EQ(ends_with(stopping, {3, 2.875, 2.75}), 3U) << "0.25 below the best is not more than 0.25";
  EXPECT_EQ(ends_with(stopping, {3, 2.875, 2.5, 2.5}), 0U);
}

TEST(EarlyStopping, TakesHigherForBetterWhereTheJobSaysSo) {
  EXPECT_EQ(ends_with(EarlyStopping({.stop_after = 2, .higher_is_better = true}), {0.5, 0.6, 0.6, 0.55}), 4U);
}

TEST(EarlyStopping, CountsWhatIsNoNumberAsNoBetter) {
  EarlyStopping stopping({.stop_after = 2});

  EXPECT_FALSE(stopping.add(1, std::nan("")));
  EXPECT_TRUE(stopping.add(2, std::nullopt));
  EXPECT_THAT(stopping.why("loss"), testing::HasSubstr("2 evaluations without a number for loss"));
}

TEST(EarlyStopping, GoesOnCountingAfterAResume) {
  EarlyStopping before({.stop_after = 3}), after({.stop_after = 3});
  before.add(10, 0.1 + 0.2);
  before.add(20, 5);
  after.load_state(nlohmann::json::parse(before.state().dump()));

  EXPECT_EQ(after.state(), before.state());
  EXPECT_FALSE(after.add(30, 0.1 + 0.2)) << "equal to the best, bit for bit";
  EXPECT_TRUE(after.add(40, 5));
  EXPECT_THAT(after.why("loss"),
              testing::HasSubstr("3 evaluations without a better loss than 0.3, that after step 10"));
}

}  // namespace
}  // namespace d9d
