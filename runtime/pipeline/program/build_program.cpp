#include "runtime/pipeline/program/build_program.hpp"

#include "runtime/pipeline/program/builders.hpp"
#include "runtime/pipeline/program/check_program.hpp"
#include "runtime/pipeline/program/communication.hpp"

namespace d9d {
namespace {

struct Build {
  int ranks;
  int microbatches;

  Program operator()(const InferenceSchedule&) const {
    return build_looped_bfs(ranks, 1, microbatches, false);
  }
  Program operator()(const GpipeSchedule&) const { return build_looped_bfs(ranks, 1, microbatches, true); }
  Program operator()(const LoopedBfsSchedule& s) const {
    return build_looped_bfs(ranks, s.num_stages_per_rank, microbatches, true);
  }
  Program operator()(const OneFOneBSchedule& s) const { return build_interleaved(ranks, microbatches, s); }
  Program operator()(const ZeroBubbleVSchedule&) const { return build_zero_bubble_v(ranks, microbatches); }
  Program operator()(const DualPipeVSchedule&) const { return build_dual_pipe_v(ranks, microbatches); }
};

}  // namespace

Topology topology_of(const ScheduleConfig& config, int ranks) {
  const bool v = std::holds_alternative<ZeroBubbleVSchedule>(config) ||
                 std::holds_alternative<DualPipeVSchedule>(config);
  return Topology(v ? TopologyKind::v : TopologyKind::loop, ranks, ranks * stages_per_rank(config));
}

bool composes_actions(const ScheduleConfig& config) {
  return std::holds_alternative<DualPipeVSchedule>(config);
}

PipelineProgram build_program(const ScheduleConfig& config, int ranks, int microbatches) {
  const Topology topology = topology_of(config, ranks);
  Program compute = std::visit(Build{ranks, microbatches}, config);
  check_compute(compute, topology, microbatches);
  Program full = insert_communication(compute, topology, microbatches);
  check_communication(full, topology, microbatches);
  const bool has_backward = !std::holds_alternative<InferenceSchedule>(config);
  return {topology, microbatches, std::move(compute), std::move(full), has_backward};
}

std::shared_ptr<const PipelineProgram> ProgramCache::get(int microbatches) {
  auto& program = programs_[microbatches];
  if (!program) {
    program = std::make_shared<const PipelineProgram>(build_program(config_, ranks_, microbatches));
  }
  return program;
}

}  // namespace d9d
