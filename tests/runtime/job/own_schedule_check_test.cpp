#include "runtime/job/own_schedule_check.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

OwnSchedule in_stages(int stages_per_rank) {
  OwnSchedule schedule;
  schedule.name = "mine";
  const LoopedBfsSchedule looped{.num_stages_per_rank = stages_per_rank};
  schedule.made = std::make_shared<PipelineSchedule>(PipelineSchedule{
      .build = [=](int ranks, int microbatches) { return build_compute(looped, ranks, microbatches); },
      .stages_per_rank = stages_per_rank});
  return schedule;
}

TEST(OwnScheduleCheck, HasToServeTheStepsOfTheJob) {
  const LoadedJob loaded = testing_job::load();  // 4 layers on 2 ranks

  EXPECT_NO_THROW(require_own_schedule(in_stages(2), loaded, StepPhases()));
  EXPECT_THAT(test::error_of([&] { require_own_schedule(in_stages(3), loaded, StepPhases()); }),
              HasSubstr("layer"));
}

TEST(OwnScheduleCheck, HasToTrain) {
  OwnSchedule forwards = in_stages(1);
  forwards.made =
      std::make_shared<PipelineSchedule>(PipelineSchedule{.build = [](int ranks, int microbatches) {
        return build_forward(Topology(TopologyKind::loop, ranks, ranks), microbatches);
      }});

  EXPECT_THAT(test::error_of([&] { require_own_schedule(forwards, testing_job::load(), StepPhases()); }),
              HasSubstr("runs no backwards"));
}

}  // namespace
}  // namespace d9d
