#include "runtime/train/step_end.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double infinity = std::numeric_limits<double>::infinity();

const StepTotals good{.loss_sum = 8, .weight_sum = 4, .norm_share = 64};
const StepTotals nan_gradient{.loss_sum = 8, .weight_sum = 4, .norm_share = std::nan("")};
const StepTotals infinite_loss{.loss_sum = infinity, .weight_sum = 4, .norm_share = 64};

StepEnd skipping(std::int64_t max_in_a_row, std::uint64_t skipped_before = 0) {
  return StepEnd({.non_finite = {NonFiniteAction::skip, max_in_a_row}, .skipped_before = {skipped_before}});
}

TEST(StepEnd, ReducesOnceForTheL2NormAndJoinsAMaximumForThatOfInfinity) {
  const StepEnd sums({});
  StepEnd maximum({.clipping = {.norm_type = NormType::inf}});

  ASSERT_EQ(sums.reductions_of(good).size(), 1U);
  EXPECT_EQ(sums.reductions_of(good)[0].values, to_values(good));
  const auto reductions = maximum.reductions_of(good);
  ASSERT_EQ(reductions.size(), 2U);
  EXPECT_EQ(reductions[0].operation, ReduceOp::sum);
  EXPECT_EQ(step_totals_from(reductions[0].values).norm_share, 0);
  EXPECT_EQ(reductions[1].operation, ReduceOp::max);
  EXPECT_THAT(reductions[1].values, ElementsAre(64));

  EXPECT_FALSE(maximum.add(reductions[0].values));
  const auto result = maximum.add(reductions[1].values);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->scale.norm, 16);
  EXPECT_EQ(result->totals.loss_sum, 8);
  EXPECT_FALSE(maximum.add(reductions[0].values)) << "the next step begins anew";
}

TEST(StepEnd, RefusesALossOrNormThatIsNotFiniteAndSaysWhatToTry) {
  const auto refusal = [](const StepTotals& totals, const ClippingOptions& clipping) {
    return test::error_of([&] { StepEnd({.clipping = clipping}).add(to_values(totals)); });
  };

  EXPECT_THAT(refusal(nan_gradient, {}),
              AllOf(HasSubstr("gradient norm is nan"), HasSubstr("set trainer.gradient_clipping.max_norm"),
                    HasSubstr("skip such steps with trainer.non_finite_gradients")));
  EXPECT_THAT(refusal(infinite_loss, {.max_norm = 1.0}),
              AllOf(HasSubstr("loss is inf"), Not(HasSubstr("max_norm"))));
}

TEST(StepEnd, SkipsWhatIsNotFiniteAndCountsIt) {
  StepEnd end = skipping(10, 3);

  EXPECT_FALSE(end.add(to_values(good))->skips);
  EXPECT_EQ(end.skipped(), 3U);
  EXPECT_TRUE(end.add(to_values(nan_gradient))->skips);
  EXPECT_TRUE(end.add(to_values(infinite_loss))->skips);
  EXPECT_FALSE(end.add(to_values(good))->skips);
  EXPECT_EQ(end.skipped(), 5U);
}

TEST(StepEnd, GivesUpAfterTooManySkippedStepsInARow) {
  StepEnd end = skipping(2);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_TRUE(end.add(to_values(nan_gradient))->skips);
    EXPECT_TRUE(end.add(to_values(nan_gradient))->skips);
    if (turn == 0) {
      EXPECT_FALSE(end.add(to_values(good))->skips);
    }
  }

  EXPECT_THAT(
      test::error_of([&] { end.add(to_values(nan_gradient)); }),
      AllOf(HasSubstr("after 2 steps that followed each other and were skipped"),
            HasSubstr("trainer.non_finite_gradients.max_in_a_row"), HasSubstr("Lower the learning rate")));
}

TEST(StepEnd, SkipsAStepInWhichNoTokenCountsWhateverTheOptionsSay) {
  const StepTotals nothing{.tokens = 40};
  for (const NormType type : {NormType::l2, NormType::inf}) {
    for (const bool hooked : {false, true}) {
      StepEnd end({.clipping = {.max_norm = 1.0, .norm_type = type},
                   .non_finite = {NonFiniteAction::stop, 1},
                   .skipped_before = {2},
                   .has_hooks = hooked});
      std::optional<StepResult> result;
      for (const StepReduction& reduction : end.reductions_of(nothing)) result = end.add(reduction.values);

      ASSERT_TRUE(result) << "hooks have nothing to see";
      EXPECT_TRUE(result->skips && !result->counts && !result->hook_skips);
      EXPECT_TRUE(std::isnan(result->scale.loss));
      EXPECT_EQ(result->scale.norm, 0);
      EXPECT_EQ(result->scale.grad, 0);
      EXPECT_EQ(result->totals.tokens, 40);
      EXPECT_EQ(end.skipped(), 3U);
      EXPECT_EQ(end.sums_for_hooks(), nullptr) << "the next step begins anew";
    }
  }
}

TEST(StepEnd, AStepInWhichNothingCountsIsNoneOfThoseThatAreNotFinite) {
  StepEnd end = skipping(1);

  EXPECT_TRUE(end.add(to_values(nan_gradient))->skips);
  EXPECT_TRUE(end.add(to_values(StepTotals{}))->skips);
  EXPECT_THROW(end.add(to_values(nan_gradient)), Error) << "two in a row, with one between that says nothing";
}

TEST(StepEnd, TakesTheNormAndASkipFromTheHooksAfterTheSums) {
  StepEnd hooked({.clipping = {.max_norm = 1.0}, .has_hooks = true});

  const auto reductions = hooked.reductions_of(good);
  ASSERT_EQ(reductions.size(), 1U);
  EXPECT_EQ(hooked.sums_for_hooks(), nullptr);
  EXPECT_FALSE(hooked.add(reductions[0].values));
  ASSERT_NE(hooked.sums_for_hooks(), nullptr);
  EXPECT_EQ(hooked.sums_for_hooks()->weight_sum, 4);
  const StepReduction norm = hooked.reduction_of_hooked(25, false);
  EXPECT_EQ(norm.operation, ReduceOp::sum);
  const auto result = hooked.add(norm.values);

  ASSERT_TRUE(result);
  EXPECT_FALSE(result->skips);
  EXPECT_EQ(result->scale.loss, 2);
  EXPECT_EQ(result->scale.norm, 5) << "gradients are means already";
  EXPECT_NEAR(result->scale.grad, 0.2, 1e-6);
  EXPECT_EQ(hooked.sums_for_hooks(), nullptr) << "the next step begins anew";
}

TEST(StepEnd, SkipsWhereAHookOfAnyRankSaysSo) {
  for (const NormType type : {NormType::l2, NormType::inf}) {
    StepEnd hooked({.clipping = {.norm_type = type}, .skipped_before = {4}, .has_hooks = true});
    EXPECT_EQ(hooked.reduction_of_hooked(1, true).operation,
              type == NormType::l2 ? ReduceOp::sum : ReduceOp::max);
    hooked.add(hooked.reductions_of(good)[0].values);

    const auto result = hooked.add(std::vector<double>{1, 1});

    EXPECT_TRUE(result->skips && result->hook_skips);
    EXPECT_EQ(hooked.skipped(), 5U);
  }
}

}  // namespace
}  // namespace d9d
