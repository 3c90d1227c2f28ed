#pragma once
// A schedule as programs for all ranks, ready to run: built, completed with communication, checked.

#include <map>
#include <memory>

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

struct PipelineProgram {
  Topology topology;
  int num_microbatches;
  Program compute;    // what the builder wrote
  Program full;       // with SEND and RECV
  bool has_backward;  // any rank runs anything backward
};

Topology topology_of(const ScheduleConfig& config, int ranks);
// Whether its programs may have composed actions.
bool composes_actions(const ScheduleConfig& config);

// The compute actions alone. Of `auto`: what the search finds for unit costs.
Program build_compute(const ScheduleConfig& config, int ranks, int microbatches);
// Forwards alone, over the stages where the topology puts them: stage after stage, breadth first. No rank waits for
// itself, because a stage's forwards need earlier stages alone.
Program build_forward(const Topology& topology, int microbatches);
// Any compute program made ready to run. Of its first `forwards` microbatches it has the forward alone.
// Deadlocks and broken rules are bugs.
PipelineProgram complete_program(Program compute, const Topology& topology, int microbatches,
                                 int forwards = 0);
// A forward program so many times, microbatch numbers going on; a pass of a microbatch needs the one before. What is
// proved of one pass holds for all: each rank is done with a pass before it begins the next one.
PipelineProgram in_passes(PipelineProgram program, int passes);
// Input errors as the builders (builders.hpp) say.
// Deadlocks and broken rules are bugs; of a plugin's schedule they are input errors.
PipelineProgram build_program(const ScheduleConfig& config, int ranks, int microbatches);

// `program` with so many further microbatches before its own, which are forward alone: they get the numbers from 0,
// its own come behind them.
std::shared_ptr<const PipelineProgram> behind_forwards(const PipelineProgram& program, int forwards);

// The same with the parts of composed actions as instructions of their own, one after the other: the first
// need not wait for the inputs of the second. For ranks where nothing of the two could overlap.
std::shared_ptr<const PipelineProgram> parts_apart(std::shared_ptr<const PipelineProgram> program);

// Programs by number of microbatches: a pack may have another size from step to step (reference PIPE-18).
// Used by one thread; programs live as long as somebody holds them.
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
