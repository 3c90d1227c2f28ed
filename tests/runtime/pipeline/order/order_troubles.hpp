#pragma once
// How ranks of a pipeline are held up where the static and the dynamic order are compared: in simulation and
// measured. All of it deterministic.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

// Of an action; the unit is the caller's.
using ActionDuration = std::function<double(const Action&)>;

struct NamedSchedule {
  std::string name;
  ScheduleConfig config;
};
// The ten fixed schedules. Where each stage runs in one order of forwards and then one of backwards there is
// nothing to choose: has_choice() is false.
std::vector<NamedSchedule> bench_schedules();
bool has_choice(const ScheduleConfig& schedule);

// Parts of composed actions apart: the simulator and the sleeping stages have one lane.
std::shared_ptr<const PipelineProgram> one_lane_program(const ScheduleConfig& schedule, int ranks,
                                                        int microbatches);

struct Trouble {
  std::string name;
  // How many times longer an action takes.
  std::function<double(const Action& action, int rank, std::uint64_t seed)> slower;
  bool by_chance = false;  // the seed matters: one draw says little
  bool with_room = false;  // also compared where ranks may hold more than their program
};
// The first is none at all.
std::vector<Trouble> order_troubles(int ranks);

// F, I and W of a stage take `unit` / stages per rank, a full backward twice that; times what troubles the
// rank; and up to the share `jitter` longer, drawn for each action and `seed`.
ActionDuration troubled_durations(const PipelineProgram& program, const Trouble& trouble, double unit,
                                  double jitter, std::uint64_t seed);

}  // namespace d9d
