#include "runtime/resume/schedule_steps.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/resume/resume_job.hpp"

namespace d9d {
namespace {

using testing_job::of_data;
using testing_job::state_of;

// 320 samples, begun with 4 a step: 80 steps, of which 40 are done.
constexpr JobPosition half{40, 160};

TEST(ScheduleSteps, AreTheStepsOfTheJobUntilTheBatchChanges) {
  const ScheduleSteps begun(of_data(4), 320, {}, 4), resumed(of_data(4), 320, half, 4);

  EXPECT_EQ(begun.total(), 80U);
  EXPECT_EQ(resumed.total(), 80U);
  for (const std::uint64_t step : {41, 42, 80}) EXPECT_EQ(resumed.of(step), step);
  EXPECT_EQ(begun.of(1), 1U);
}

TEST(ScheduleSteps, CountTheStepOfTheLastSamplesWhereTheJobKeepsThem) {
  JobConfig job = of_data(8);
  job.trainer.batching.drop_last = false;

  EXPECT_EQ(ScheduleSteps(job, 322, half, 4).total(), 81U);
  EXPECT_EQ(ScheduleSteps(of_data(8), 322, half, 4).total(), 80U);
}

// A step of 8 is as long as two of 4: steps 41, 42, ... 60 begin where 41, 43, ... 79 began.
TEST(ScheduleSteps, StayAtTheirSamplesWhereTheDataGivesTheLength) {
  const ScheduleSteps larger(of_data(8), 320, half, 4), smaller(of_data(2), 320, half, 4);

  EXPECT_EQ(larger.total(), 80U);
  EXPECT_EQ(larger.of(41), 41U);
  EXPECT_EQ(larger.of(42), 43U);
  EXPECT_EQ(larger.of(60), 79U);
  EXPECT_EQ(smaller.total(), 80U);
  EXPECT_EQ(smaller.of(41), 41U);
  EXPECT_EQ(smaller.of(42), 41U) << "half a step further";
  EXPECT_EQ(smaller.of(120), 80U);
}

// 40 steps of 4 and 10 of 8 end at sample 240; in steps of 4 that was the 60th.
TEST(ScheduleSteps, CountOnAfterSeveralBatchSizes) {
  const ScheduleSteps back(of_data(4), 320, {50, 240}, 4);

  EXPECT_EQ(back.total(), 80U);
  EXPECT_EQ(back.of(51), 61U);
  EXPECT_EQ(back.of(70), 80U);
}

TEST(ScheduleSteps, AreThoseOfTheJobFileWhereItCountsThem) {
  const ScheduleSteps steps(of_data(8, {"trainer.schedule.total_steps=50"}), 320, half, 4);

  EXPECT_EQ(steps.total(), 50U);
  EXPECT_EQ(steps.of(41), 41U);
  EXPECT_EQ(steps.of(50), 50U);
}

TEST(ScheduleSteps, KnowTheFirstBatchFromTheCheckpointOrItsJob) {
  EXPECT_EQ(first_batch_of(state_of(8, ",\"first_batch_size\":4"), of_data(2)), 4U);
  EXPECT_EQ(first_batch_of(state_of(8), of_data(2)), 8U) << "of a version that did not write it";
  EXPECT_EQ(first_batch_of("", of_data(2)), 2U);
  EXPECT_EQ(batch_before("{\"job\":{\"inference\":{\"batching\":{\"global_batch_size\":3}}}}"), 3U);
  EXPECT_EQ(batch_before("[]"), std::nullopt);
}

}  // namespace
}  // namespace d9d
