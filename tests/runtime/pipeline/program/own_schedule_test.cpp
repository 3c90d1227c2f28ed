#include "runtime/pipeline/program/own_schedule.hpp"

#include <gmock/gmock.h>

#include "runtime/pipeline/program/build_program.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

ScheduleConfig own(std::function<Program(int, int)> build, TopologyKind topology = TopologyKind::loop,
                   int stages = 1) {
  OwnSchedule schedule;
  schedule.name = "mine";
  schedule.made = std::make_shared<PipelineSchedule>(
      PipelineSchedule{.build = std::move(build), .stages_per_rank = stages, .topology = topology});
  return schedule;
}

std::string refusal_of(const ScheduleConfig& schedule) {
  return test::error_of([&] { build_program(schedule, 2, 3); }, ErrorKind::input);
}

TEST(OwnSchedule, GetsTheTransfersAndTheTopologyOfTheBuiltInOnes) {
  const auto as_gpipe = [](int ranks, int microbatches) {
    return build_compute(GpipeSchedule{}, ranks, microbatches);
  };
  const auto as_zero_bubble = [](int ranks, int microbatches) {
    return build_compute(ZeroBubbleVSchedule{}, ranks, microbatches);
  };

  EXPECT_EQ(build_program(own(as_gpipe), 2, 3).full, build_program(GpipeSchedule{}, 2, 3).full);
  const PipelineProgram v = build_program(own(as_zero_bubble, TopologyKind::v, 2), 2, 4);
  EXPECT_EQ(v.full, build_program(ZeroBubbleVSchedule{}, 2, 4).full);
  EXPECT_EQ(v.topology.num_stages(), 4);
}

TEST(OwnSchedule, ThatCannotRunIsAnInputErrorWithItsName) {
  const auto stuck = [](int ranks, int microbatches) {
    Program program = build_compute(GpipeSchedule{}, ranks, microbatches);
    std::swap(program[0].front(), program[0].back());
    return program;
  };
  const auto short_of_one = [](int ranks, int microbatches) {
    Program program = build_compute(GpipeSchedule{}, ranks, microbatches);
    program[1].pop_back();
    return program;
  };
  const auto of_one_rank = [](int, int microbatches) {
    return build_compute(GpipeSchedule{}, 1, microbatches);
  };
  const auto throws = [](int, int) -> Program { throw std::runtime_error("only for 7 ranks"); };

  EXPECT_THAT(refusal_of(own(stuck)),
              HasSubstr("the schedule \"mine\" of a plugin makes no program that can run: "));
  EXPECT_THAT(refusal_of(own(short_of_one)), HasSubstr("the schedule \"mine\""));
  EXPECT_THAT(refusal_of(own(of_one_rank)), HasSubstr("makes 1 programs for a pipeline of 2 ranks"));
  EXPECT_THAT(refusal_of(own(throws)), HasSubstr("only for 7 ranks"));
}

}  // namespace
}  // namespace d9d
