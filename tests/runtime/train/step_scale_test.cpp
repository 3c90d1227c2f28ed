#include "runtime/train/step_scale.hpp"

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

std::string refusal_of(const StepTotals& totals, std::optional<double> max_norm) {
  return test::error_of([&] { step_scale(totals, max_norm); });
}

TEST(StepScale, DividesByTheWeightAndClipsAboveTheLargestNorm) {
  const StepTotals totals{.loss_sum = 11, .weight_sum = 4, .squared_norm = 400};
  const StepScale free = step_scale(totals, {});
  EXPECT_DOUBLE_EQ(free.loss, 11.0 / 4);
  EXPECT_DOUBLE_EQ(free.norm, 5);
  EXPECT_DOUBLE_EQ(free.clip, 1);
  EXPECT_DOUBLE_EQ(free.grad, 0.25);

  const StepScale clipped = step_scale(totals, 1.0);
  EXPECT_DOUBLE_EQ(clipped.clip, 1 / (5 + 1e-6));
  EXPECT_DOUBLE_EQ(clipped.grad, clipped.clip / 4);

  EXPECT_DOUBLE_EQ(step_scale(totals, 6.0).clip, 1);
}

TEST(StepScale, RefusesAStepInWhichNoTokenCounts) {
  EXPECT_THAT(refusal_of({}, 1.0), HasSubstr("no token of the whole batch counts"));
}

TEST(StepScale, RefusesALossOrNormThatIsNotFiniteAndSaysWhatToTry) {
  const double infinity = std::numeric_limits<double>::infinity();

  EXPECT_THAT(refusal_of({.loss_sum = 1, .weight_sum = 2, .squared_norm = std::nan("")}, {}),
              AllOf(HasSubstr("gradient norm is nan"), HasSubstr("trainer.gradient_clipping.max_norm")));
  EXPECT_THAT(refusal_of({.loss_sum = infinity, .weight_sum = 2}, 1.0),
              AllOf(HasSubstr("loss is inf"), Not(HasSubstr("max_norm"))));
}

TEST(StepTotals, TravelAsNumbersInOneOrderAndCostsComeLast) {
  const StepTotals totals{.loss_sum = 1,
                          .weight_sum = 2,
                          .squared_norm = 3,
                          .tokens = 4,
                          .terminates = 5,
                          .interrupts = 6,
                          .saves = 7,
                          .costs = {8, 9}};

  const std::vector<double> values = to_values(totals);

  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  const StepTotals back = step_totals_from(values);
  EXPECT_EQ(to_values(back), values);
  EXPECT_EQ(back.saves, 7);
  EXPECT_THAT(back.costs, ElementsAre(8, 9));
}

TEST(StepTotals, AreNotReadFromAListThatIsTooShort) {
  EXPECT_THROW(step_totals_from(std::vector<double>{1, 2, 3}), Error);
}

}  // namespace
}  // namespace d9d
