#include "runtime/train/step_scale.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

TEST(StepScale, DividesByTheWeightAndClipsAboveTheLargestNorm) {
  const StepTotals totals{.loss_sum = 11, .weight_sum = 4, .norm_share = 400};
  const StepScale free = step_scale(totals, {});
  EXPECT_DOUBLE_EQ(free.loss, 11.0 / 4);
  EXPECT_DOUBLE_EQ(free.norm, 5);
  EXPECT_DOUBLE_EQ(free.clip, 1);
  EXPECT_DOUBLE_EQ(free.grad, 0.25);

  const StepScale clipped = step_scale(totals, {.max_norm = 1.0});
  EXPECT_DOUBLE_EQ(clipped.clip, 1 / (5 + 1e-6));
  EXPECT_DOUBLE_EQ(clipped.grad, clipped.clip / 4);

  EXPECT_DOUBLE_EQ(step_scale(totals, {.max_norm = 6.0}).clip, 1);
}

TEST(StepScale, ClipsByTheLargestElementIfTheJobSaysSo) {
  const StepTotals totals{.loss_sum = 11, .weight_sum = 4, .norm_share = 400};

  const StepScale clipped = step_scale(totals, {.max_norm = 10, .norm_type = NormType::inf});

  EXPECT_DOUBLE_EQ(clipped.norm, 100);
  EXPECT_DOUBLE_EQ(clipped.grad, 10 / (100 + 1e-6) / 4);
}

// Hooks see means, so what watches gradients after them must not divide once more.
TEST(StepScale, LeavesMeansAsTheyAre) {
  const StepTotals totals{.loss_sum = 11, .weight_sum = 4, .norm_share = 400};

  EXPECT_DOUBLE_EQ(step_scale(totals, {.max_norm = 1.0}).mean, 0.25);
  EXPECT_DOUBLE_EQ(step_scale(totals, {.max_norm = 1.0}, GradientsAre::means).mean, 1);
}

TEST(StepScale, OfAStepInWhichNoTokenCountsIsZeroAndHasNoLoss) {
  const StepScale scale = step_scale({.norm_share = 5}, {.max_norm = 1.0});

  EXPECT_FALSE(scale.counts);
  EXPECT_TRUE(std::isnan(scale.loss));
  EXPECT_EQ(scale.norm, 0);
  EXPECT_EQ(scale.grad, 0);
}

TEST(StepTotals, TravelAsNumbersInOneOrderAndCostsComeLast) {
  const StepTotals totals{
      .loss_sum = 1, .weight_sum = 2, .norm_share = 3, .tokens = 4, .flops = 5, .costs = {6, 7}};

  const std::vector<double> values = to_values(totals);

  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  const StepTotals back = step_totals_from(values);
  EXPECT_EQ(to_values(back), values);
  EXPECT_EQ(back.tokens, 4);
  EXPECT_THAT(back.costs, ElementsAre(6, 7));
}

TEST(StepTotals, AreNotReadFromAListThatIsTooShort) {
  EXPECT_THROW(step_totals_from(std::vector<double>{1, 2, 3}), Error);
}

}  // namespace
}  // namespace d9d
