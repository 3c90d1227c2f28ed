#include "runtime/pipeline/schedule_command.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/draw_svg.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulator.hpp"

namespace d9d {
namespace {

constexpr double kActionsMax = 3e6;  // about 1 GB while it is printed

nlohmann::json programs_to_json(const Program& program) {
  nlohmann::json ranks = nlohmann::json::object();
  for (std::size_t rank = 0; rank < program.size(); ++rank) {
    nlohmann::json& list = ranks[std::to_string(rank)] = nlohmann::json::array();
    for (const Instruction& instruction : program[rank]) list.push_back(to_string(instruction));
  }
  return ranks;
}

std::string to_json(const ScheduleConfig& config, const PipelineProgram& program,
                    const Simulation& simulation) {
  const int per_rank = program.topology.stages_per_rank();
  std::vector<double> of_rank;
  for (const int peak : simulation.peak_activations) of_rank.push_back(static_cast<double>(peak) / per_rank);
  const nlohmann::json json = {{"schedule", name_of(config)},
                               {"pp", program.topology.num_ranks()},
                               {"stages_per_rank", per_rank},
                               {"microbatches", program.num_microbatches},
                               {"programs", programs_to_json(program.compute)},
                               {"programs_with_communication", programs_to_json(program.full)},
                               {"makespan", simulation.makespan},
                               {"bubble", simulation.bubble},
                               {"peak_activations", simulation.peak_activations},
                               {"peak_activations_of_rank", of_rank},
                               {"peak_pending_weights", simulation.peak_pending_weights}};
  return json.dump() + "\n";
}

std::string headline(const ScheduleConfig& config, const PipelineProgram& program) {
  return fmt::format("{}: {} ranks x {} stages, {} microbatches", name_of(config),
                     program.topology.num_ranks(), program.topology.stages_per_rank(),
                     program.num_microbatches);
}

std::string to_text(const ScheduleConfig& config, const PipelineProgram& program,
                    const Simulation& simulation) {
  std::string text = headline(config, program) + "\n";
  for (std::size_t rank = 0; rank < program.full.size(); ++rank) {
    text += fmt::format("rank {}:", rank);
    for (const Instruction& instruction : program.full[rank]) text += " " + to_string(instruction);
    text += "\n";
  }
  text += fmt::format("makespan {:.6g} forwards of a rank, bubble {:.1f} %\n", simulation.makespan,
                      100 * simulation.bubble);
  text += "peak live activations (stage-microbatches) per rank:";
  for (const int peak : simulation.peak_activations) text += fmt::format(" {}", peak);
  return text + "\n";
}

}  // namespace

ScheduleCommandResult run_schedule_command(const ScheduleCommandOptions& options) {
  D9D_REQUIRE(options.ranks >= 1, "--pp is {}; expected the number of pipeline ranks, at least 1",
              options.ranks);
  D9D_REQUIRE(options.microbatches >= 1, "--microbatches is {}; expected at least 1", options.microbatches);
  D9D_REQUIRE(options.transfer >= 0, "--transfer is {}; expected a time of at least 0", options.transfer);
  const ScheduleConfig config = schedule_from_keys(options.schedule);
  const double actions = 3.0 * options.ranks * stages_per_rank(config) * options.microbatches;
  D9D_REQUIRE(actions <= kActionsMax,
              "{:.3g} actions are too many to print; at most {:.3g} (ranks x stages x microbatches x 3)",
              actions, kActionsMax);
  const PipelineProgram program = build_program(config, options.ranks, options.microbatches);
  CostModel costs = unit_costs(program.topology);
  costs.transfer = options.transfer;
  const Simulation simulation = simulate(program.compute, program.topology, costs);
  SvgOptions svg;
  svg.title = headline(config, program);
  return {options.json ? to_json(config, program, simulation) : to_text(config, program, simulation),
          draw_svg(simulation, svg)};
}

}  // namespace d9d
