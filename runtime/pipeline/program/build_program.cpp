#include "runtime/pipeline/program/build_program.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/auto_schedule.hpp"
#include "runtime/pipeline/program/builders.hpp"
#include "runtime/pipeline/program/check_program.hpp"
#include "runtime/pipeline/program/communication.hpp"

namespace d9d {
namespace {

struct Build {
  int ranks;
  int microbatches;

  Program operator()(const InferenceSchedule&) const {
    return build_forward(Topology(TopologyKind::loop, ranks, ranks), microbatches);
  }
  Program operator()(const GpipeSchedule&) const { return build_looped_bfs(ranks, 1, microbatches); }
  Program operator()(const LoopedBfsSchedule& s) const {
    return build_looped_bfs(ranks, s.num_stages_per_rank, microbatches);
  }
  Program operator()(const OneFOneBSchedule& s) const { return build_interleaved(ranks, microbatches, s); }
  Program operator()(const ZeroBubbleVSchedule&) const { return build_zero_bubble_v(ranks, microbatches); }
  Program operator()(const DualPipeVSchedule&) const { return build_dual_pipe_v(ranks, microbatches); }
  Program operator()(const AutoSchedule& s) const {
    const Topology topology = topology_of(s, ranks);
    return search_schedule(auto_problem(s, topology, microbatches, unit_costs(topology))).compute;
  }
  Program operator()(const OwnSchedule& s) const { return build_own(s, ranks, microbatches); }
};

bool is_backward(const Instruction& instruction) {
  return std::any_of(instruction.parts.begin(), instruction.parts.end(), [](const Action& action) {
    return action.kind == ActionKind::backward || action.kind == ActionKind::backward_input;
  });
}

}  // namespace

Topology topology_of(const ScheduleConfig& config, int ranks) {
  const auto* searched = std::get_if<AutoSchedule>(&config);
  const auto* own = std::get_if<OwnSchedule>(&config);
  const bool v = std::holds_alternative<ZeroBubbleVSchedule>(config) ||
                 std::holds_alternative<DualPipeVSchedule>(config) ||
                 (searched && searched->topology == TopologyKind::v) ||
                 (own && own->made && own->made->topology == TopologyKind::v);
  return Topology(v ? TopologyKind::v : TopologyKind::loop, ranks, ranks * stages_per_rank(config));
}

bool composes_actions(const ScheduleConfig& config) {
  const auto* searched = std::get_if<AutoSchedule>(&config);  // may choose dual_pipe_v, on a V
  return std::holds_alternative<DualPipeVSchedule>(config) || std::holds_alternative<OwnSchedule>(config) ||
         (searched != nullptr && searched->topology == TopologyKind::v);
}

Program build_compute(const ScheduleConfig& config, int ranks, int microbatches) {
  return std::visit(Build{ranks, microbatches}, config);
}

Program build_forward(const Topology& topology, int microbatches) {
  Program program(static_cast<std::size_t>(topology.num_ranks()));
  for (int stage = 0; stage < topology.num_stages(); ++stage) {
    RankProgram& holder = program[static_cast<std::size_t>(topology.rank_of(stage))];
    for (int mb = 0; mb < microbatches; ++mb) holder.push_back({{{ActionKind::forward, stage, mb}}});
  }
  return program;
}

PipelineProgram complete_program(Program compute, const Topology& topology, int microbatches, int forwards) {
  check_compute(compute, topology, microbatches, forwards);
  Program full = insert_communication(compute, topology, microbatches);
  check_communication(full, topology, microbatches, forwards);
  const bool has_backward = std::any_of(compute.begin(), compute.end(), [](const RankProgram& rank) {
    return std::any_of(rank.begin(), rank.end(), is_backward);
  });
  return {topology, microbatches, std::move(compute), std::move(full), has_backward};
}

PipelineProgram in_passes(PipelineProgram program, int passes) {
  D9D_CHECK(passes > 0 && !program.has_backward, "{} passes of a program{}", passes,
            program.has_backward ? " with backwards" : "");
  const auto repeat = [&](Program& ranks) {
    for (RankProgram& rank : ranks) {
      const RankProgram once = rank;
      for (int pass = 1; pass < passes; ++pass) {
        for (Instruction instruction : once) {
          for (Action& action : instruction.parts) action.microbatch += pass * program.num_microbatches;
          rank.push_back(std::move(instruction));
        }
      }
    }
  };
  repeat(program.compute);
  repeat(program.full);
  program.num_microbatches *= passes;
  return program;
}

PipelineProgram build_program(const ScheduleConfig& config, int ranks, int microbatches) {
  const auto* own = std::get_if<OwnSchedule>(&config);
  Program compute = build_compute(config, ranks, microbatches);
  const Topology topology = topology_of(config, ranks);
  if (own == nullptr) return complete_program(std::move(compute), topology, microbatches);
  return of_own(*own, [&] { return complete_program(std::move(compute), topology, microbatches); });
}

std::shared_ptr<const PipelineProgram> behind_forwards(const PipelineProgram& program, int forwards) {
  Program compute = build_forward(program.topology, forwards);
  for (std::size_t rank = 0; rank < compute.size(); ++rank) {
    for (Instruction instruction : program.compute[rank]) {
      for (Action& action : instruction.parts) action.microbatch += forwards;
      compute[rank].push_back(std::move(instruction));
    }
  }
  return std::make_shared<const PipelineProgram>(
      complete_program(std::move(compute), program.topology, forwards + program.num_microbatches, forwards));
}

std::shared_ptr<const PipelineProgram> parts_apart(std::shared_ptr<const PipelineProgram> program) {
  const auto is_composed = [](const Instruction& instruction) { return instruction.parts.size() > 1; };
  const auto composes = [&](const RankProgram& rank) {
    return std::any_of(rank.begin(), rank.end(), is_composed);
  };
  if (std::none_of(program->compute.begin(), program->compute.end(), composes)) return program;
  auto apart = std::make_shared<PipelineProgram>(*program);
  for (Program* each : {&apart->compute, &apart->full}) {
    for (RankProgram& rank : *each) {
      RankProgram parts;
      for (const Instruction& instruction : rank) {
        for (const Action& action : instruction.parts) parts.push_back({{action}});
      }
      rank = std::move(parts);
    }
  }
  return apart;
}

std::shared_ptr<const PipelineProgram> ProgramCache::get(int microbatches) {
  auto& program = programs_[microbatches];
  if (!program) {
    program = std::make_shared<const PipelineProgram>(build_program(config_, ranks_, microbatches));
  }
  return program;
}

}  // namespace d9d
