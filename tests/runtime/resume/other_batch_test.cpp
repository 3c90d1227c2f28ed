#include "runtime/resume/other_batch.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/resume/resume_job.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_job::of_data;
using testing_job::state_of;

constexpr const char* schedule =
    "lr_scheduler={name: piecewise, scheduler: {initial_multiplier: 1, phases: [{mode: rest, "
    "target_multiplier: 0, "
    "curve: {type: linear}}]}}";

TEST(OtherBatch, IsNotToldWhereItIsTheSame) {
  EXPECT_EQ(told_other_batch(of_data(4), 40, {5, 20}, state_of(4)), "");
  EXPECT_EQ(told_other_batch(of_data(4), 40, {5, 20}, "{}"), "") << "of a checkpoint that does not say";
}

// 20 of 40 samples are left: two steps of 8, and 4 samples.
TEST(OtherBatch, IsToldWithWhereItBeginsAndWhatIsLeft) {
  const std::string told = told_other_batch(of_data(8), 40, {5, 20}, state_of(4));

  EXPECT_EQ(
      told,
      "a step takes 8 samples, and took 4 before: step 6 begins with sample 20, 2 steps are left (the last 4 "
      "samples make no whole step)");
}

TEST(OtherBatch, SaysByWhatThePhasesOfTheLearningRateAreCounted) {
  EXPECT_THAT(
      told_other_batch(of_data(2, {schedule}), 40, {5, 20}, state_of(4)),
      HasSubstr("10 steps are left. The phases of the learning rate stay at their samples: they are counted "
                "in steps of 4"));
  EXPECT_THAT(
      told_other_batch(of_data(2, {schedule, "trainer.schedule.total_steps=8"}), 40, {5, 20}, state_of(4)),
      HasSubstr("3 steps are left. The phases of the learning rate stay at their steps"));
  EXPECT_THAT(told_other_batch(of_data(2), 40, {5, 20}, state_of(4)), Not(HasSubstr("learning rate")));
}

}  // namespace
}  // namespace d9d
