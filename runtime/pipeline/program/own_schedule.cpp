#include "runtime/pipeline/program/own_schedule.hpp"

namespace d9d {

OwnSchedule::OwnSchedule() = default;
OwnSchedule::OwnSchedule(const OwnSchedule& other) = default;
OwnSchedule& OwnSchedule::operator=(const OwnSchedule& other) = default;
OwnSchedule::~OwnSchedule() = default;

Program build_own(const OwnSchedule& schedule, int ranks, int microbatches) {
  D9D_CHECK(schedule.made != nullptr, "the schedule {} was not made before it is used", schedule.name);
  Program program = of_own(schedule, [&] { return schedule.made->build(ranks, microbatches); });
  D9D_REQUIRE(
      program.size() == static_cast<std::size_t>(ranks),
      "the schedule \"{}\" of a plugin makes {} programs for a pipeline of {} ranks; expected one for each",
      schedule.name, program.size(), ranks);
  return program;
}

}  // namespace d9d
