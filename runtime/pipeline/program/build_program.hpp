#pragma once
// Turns a schedule into programs for all ranks: builds them, adds communication and checks them.

#include <map>
#include <memory>

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

struct PipelineProgram {
  Topology topology;
  int num_microbatches;
  Program compute;    // as the builder made it
  Program full;       // with SEND and RECV
  bool has_backward;  // any rank runs anything backward
};

Topology topology_of(const ScheduleConfig& config, int ranks);
// Whether its programs may have composed actions.
bool composes_actions(const ScheduleConfig& config);

// Builds the compute actions alone. For `auto`: those that the search finds for unit costs.
Program build_compute(const ScheduleConfig& config, int ranks, int microbatches);
// Builds forwards alone, stage after stage, breadth first. It cannot deadlock, because the forwards of a
// stage need only earlier stages.
Program build_forward(const Topology& topology, int microbatches);
// Completes any compute program. Its first `forwards` microbatches must have a forward alone.
// Deadlocks and broken rules are bugs.
PipelineProgram complete_program(Program compute, const Topology& topology, int microbatches,
                                 int forwards = 0);
// Repeats a forward program `passes` times, with ascending microbatch numbers. A pass of a
// microbatch needs the pass before. The proof for one pass is valid for all, because each rank ends
// a pass before it begins the next one.
PipelineProgram in_passes(PipelineProgram program, int passes);
// Builds and completes the program of a schedule. Input errors as in builders.hpp. Deadlocks and broken
// rules are bugs; in a plugin's schedule they are input errors.
PipelineProgram build_program(const ScheduleConfig& config, int ranks, int microbatches);

// Puts `forwards` further microbatches with a forward alone before those of `program`. They get the numbers
// from 0; the numbers of the program's own microbatches follow.
std::shared_ptr<const PipelineProgram> behind_forwards(const PipelineProgram& program, int forwards);

// Splits composed actions into single instructions, so that the first part need not wait for the inputs of
// the second. For ranks on which the parts cannot overlap anyway.
std::shared_ptr<const PipelineProgram> parts_apart(std::shared_ptr<const PipelineProgram> program);

// Keeps programs by number of microbatches, which may change from step to step (reference PIPE-18). Use it
// on one thread. The programs are shared and may outlive the cache.
class ProgramCache {
 public:
  ProgramCache(ScheduleConfig config, int ranks) : config_(config), ranks_(ranks) {}
  std::shared_ptr<const PipelineProgram> get(int microbatches);

 private:
  const ScheduleConfig config_;
  const int ranks_;
  std::map<int, std::shared_ptr<const PipelineProgram>> programs_;
};

}  // namespace d9d
