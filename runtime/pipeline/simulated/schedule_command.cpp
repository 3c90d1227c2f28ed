#include "runtime/pipeline/simulated/schedule_command.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/pipeline/program/auto_schedule.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/program/program_text.hpp"
#include "runtime/pipeline/simulated/draw_svg.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {
namespace {

constexpr double printed_actions_max = 3e6;  // about 1 GB while it is printed

struct Scheduled {
  std::string name;
  PipelineProgram program;
  CostModel costs;
  Simulation simulation;
  std::optional<AutoChoice> searched;
  bool unit = true;
};

CostModel costs_of(const ScheduleCommandOptions& options, const Topology& topology) {
  CostModel costs = unit_costs(topology);
  if (!options.costs.empty()) costs.stages = parse_costs(options.costs, topology.num_stages());
  costs.transfer = options.transfer;
  return costs;
}

Scheduled simulated(std::string name, PipelineProgram program, CostModel costs) {
  Simulation simulation = simulate(program.compute, program.topology, costs);
  return {std::move(name), std::move(program), std::move(costs), std::move(simulation), {}, true};
}

Scheduled searched(const AutoSchedule& schedule, const ScheduleCommandOptions& options) {
  const Topology topology = topology_of(schedule, options.ranks);
  const CostModel costs = costs_of(options, topology);
  AutoChoice choice = search_schedule(auto_problem(schedule, topology, options.microbatches, costs));
  Scheduled result = simulated(std::string(AutoSchedule::name),
                               complete_program(choice.compute, topology, options.microbatches), costs);
  result.searched = std::move(choice);
  return result;
}

// For a command that says nothing about stages or their costs: one stage per rank, or two on a V if that is
// faster. Both have the same limit of activations.
Scheduled best_searched(const AutoSchedule& given, const ScheduleCommandOptions& options) {
  Scheduled best = searched(given, options);
  if (!options.chooses_stages || options.ranks == 1) return best;
  AutoSchedule two_on_v = given;
  two_on_v.num_stages_per_rank = 2;
  two_on_v.topology = TopologyKind::v;
  Scheduled on_v = searched(two_on_v, options);
  if (on_v.simulation.makespan < best.simulation.makespan) std::swap(best, on_v);
  const AutoChoice& other = *on_v.searched;
  AutoChoice& kept = *best.searched;
  if (!other.fixed.empty() && (kept.fixed.empty() || other.fixed_makespan < kept.fixed_makespan)) {
    kept.fixed = other.fixed;
    kept.fixed_makespan = other.fixed_makespan;
    kept.fixed_bubble = other.fixed_bubble;
  }
  return best;
}

Scheduled schedule_by_name(const ScheduleCommandOptions& options) {
  D9D_REQUIRE(options.ranks >= 1, "--pp is {}; expected the number of pipeline ranks, at least 1",
              options.ranks);
  D9D_REQUIRE(options.microbatches >= 1, "--microbatches is {}; expected at least 1", options.microbatches);
  const ScheduleConfig& config = options.schedule;
  const double actions = 3.0 * options.ranks * stages_per_rank(config) * options.microbatches;
  D9D_REQUIRE(actions <= printed_actions_max,
              "{:.3g} actions are too many to print; at most {:.3g} (ranks x stages x microbatches x 3)",
              actions, printed_actions_max);
  if (const auto* given = std::get_if<AutoSchedule>(&config)) return best_searched(*given, options);
  return simulated(std::string(name_of(config)), build_program(config, options.ranks, options.microbatches),
                   costs_of(options, topology_of(config, options.ranks)));
}

Scheduled schedule_of(const ScheduleCommandOptions& options) {
  D9D_REQUIRE(is_time(options.transfer), "--transfer is {}; expected a time of at least 0", options.transfer);
  Scheduled result = [&] {
    if (options.program.empty()) return schedule_by_name(options);
    PipelineProgram program = parse_program(options.program);
    CostModel costs = costs_of(options, program.topology);
    return simulated("program", std::move(program), std::move(costs));
  }();
  result.unit = options.costs.empty();
  return result;
}

nlohmann::json programs_to_json(const Program& program) {
  nlohmann::json ranks = nlohmann::json::object();
  for (std::size_t rank = 0; rank < program.size(); ++rank) {
    nlohmann::json& list = ranks[std::to_string(rank)] = nlohmann::json::array();
    for (const Instruction& instruction : program[rank]) list.push_back(to_string(instruction));
  }
  return ranks;
}

std::string to_json(const Scheduled& scheduled) {
  const PipelineProgram& program = scheduled.program;
  const Simulation& simulation = scheduled.simulation;
  const int per_rank = program.topology.stages_per_rank();
  std::vector<double> of_rank;
  for (const int peak : simulation.peak_activations) of_rank.push_back(static_cast<double>(peak) / per_rank);
  nlohmann::json json = {{"schedule", scheduled.name},
                         {"pp", program.topology.num_ranks()},
                         {"stages_per_rank", per_rank},
                         {"microbatches", program.num_microbatches},
                         {"programs", programs_to_json(program.compute)},
                         {"programs_with_communication", programs_to_json(program.full)},
                         {"makespan", simulation.makespan},
                         {"bubble", simulation.bubble},
                         {"peak_activations", simulation.peak_activations},
                         {"peak_activations_of_rank", of_rank},
                         {"peak_pending_weights", simulation.peak_pending_weights},
                         {"peak_held", simulation.peak_held}};
  if (scheduled.searched) {
    json["origin"] = scheduled.searched->origin;
    json["fixed"] = scheduled.searched->fixed;
    json["fixed_makespan"] = scheduled.searched->fixed_makespan;
    json["fixed_bubble"] = scheduled.searched->fixed_bubble;
  }
  return json_text(json) + "\n";
}

std::string headline(const Scheduled& scheduled) {
  const PipelineProgram& program = scheduled.program;
  return fmt::format("{}: {} x {}, {}", scheduled.name, counted(program.topology.num_ranks(), "rank"),
                     counted(program.topology.stages_per_rank(), "stage"),
                     counted(program.num_microbatches, "microbatch"));
}

std::string to_text(const Scheduled& scheduled) {
  const Simulation& simulation = scheduled.simulation;
  std::string text = headline(scheduled) + "\n";
  for (std::size_t rank = 0; rank < scheduled.program.full.size(); ++rank) {
    text += fmt::format("rank {}:", rank);
    for (const Instruction& instruction : scheduled.program.full[rank]) text += " " + to_string(instruction);
    text += "\n";
  }
  text += fmt::format("makespan {:.6g}{}, bubble {:.1f} %\n", simulation.makespan,
                      scheduled.unit ? " forwards of a rank" : "", 100 * simulation.bubble);
  if (scheduled.searched) {
    const AutoChoice& choice = *scheduled.searched;
    text += choice.fixed.empty()
                ? "no fixed schedule keeps the limit of activations\n"
                : fmt::format("best fixed schedule: {}, makespan {:.6g}, bubble {:.1f} %\n", choice.fixed,
                              choice.fixed_makespan, 100 * choice.fixed_bubble);
  }
  text += "peak live activations (stage-microbatches) per rank:";
  for (const int peak : simulation.peak_activations) text += fmt::format(" {}", peak);
  text += "\nwith those whose weight gradients are still to come:";
  for (const int peak : simulation.peak_held) text += fmt::format(" {}", peak);
  return text + "\n";
}

}  // namespace

ScheduleCommandResult run_schedule_command(const ScheduleCommandOptions& options) {
  const Scheduled scheduled = schedule_of(options);
  SvgOptions svg;
  svg.title = headline(scheduled);
  if (scheduled.unit) svg.unit = " forwards of a rank";
  return {options.json ? to_json(scheduled) : to_text(scheduled), draw_svg(scheduled.simulation, svg)};
}

}  // namespace d9d
