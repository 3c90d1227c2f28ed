#include "actors/cli/view/summary.hpp"

#include <algorithm>

#include "runtime/base/config/decode.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {
namespace {

void add_model(const LoadedJob& loaded, const Topology& topology, const Simulation& simulation,
               JobSummary& summary) {
  const FamilyModel& model = *loaded.model;
  const ParameterCounts counts = count_parameters(model);
  summary.parameters = counts.total;
  summary.active_parameters = counts.active;
  if (summary.sequence_length)
    summary.flops_per_token = training_flops_per_token(model, *summary.sequence_length);
  if (!loaded.job.inference) summary.groups = optimizer_groups(loaded.job, model);
  const int num_stages = topology.num_stages();
  const int extra = loaded.job.trainer.pipelining.extra_activations;
  const auto layers = layers_of_stages(model, num_stages, loaded.split);
  for (int stage = 0; stage < num_stages; ++stage) {
    const LayerRange& range = layers[static_cast<std::size_t>(stage)];
    summary.stages.push_back({stage, topology.rank_of(stage), range.begin, range.end,
                              count_parameters(model, {stage, num_stages}, loaded.split).total});
  }
  for (int pp = 0; pp < loaded.job.mesh.pipeline_parallel; ++pp) {
    std::vector<StagePosition> stages;
    for (const int stage : topology.stages_of(pp)) stages.push_back({stage, num_stages});
    const int all = static_cast<int>(stages.size()) * static_cast<int>(summary.microbatches);
    const int live = std::min(all, simulation.peak_activations[static_cast<std::size_t>(pp)] + extra);
    summary.ranks.push_back(
        estimate_memory(loaded, stages, {pp, live, summary.microbatches, summary.sequence_length}));
  }
}

}  // namespace

JobSummary summarize(const LoadedJob& loaded, const ScheduleConfig& schedule,
                     std::optional<std::int64_t> sequence_length) {
  const JobConfig& job = loaded.job;
  JobSummary summary;
  summary.world_size = job.mesh.world_size();
  summary.num_nodes = summary.world_size / static_cast<int>(job.node.ranks.value_or(summary.world_size));
  summary.microbatches = microbatches_per_step(job);
  summary.sequence_length = sequence_length;
  const PipelineProgram program =
      build_program(schedule, job.mesh.pipeline_parallel, static_cast<int>(summary.microbatches));
  const Simulation simulation = simulate(program.compute, program.topology, unit_costs(program.topology));
  summary.schedule = std::string(name_of(schedule));
  summary.bubble = simulation.bubble;
  if (loaded.model) add_model(loaded, program.topology, simulation, summary);
  return summary;
}

config::Json to_json(const JobSummary& summary) {
  config::Json stages = config::Json::array();
  for (const StageSummary& stage : summary.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"pipeline_rank", stage.pipeline_rank},
                      {"layers", {stage.layer_begin, stage.layer_end}},
                      {"parameters", stage.parameters}});
  }
  config::Json ranks = config::Json::array();
  for (const RankMemory& rank : summary.ranks) {
    ranks.push_back({{"pipeline_rank", rank.pipeline_rank},
                     {"parameter_bytes", rank.parameters},
                     {"gradient_bytes", rank.gradients},
                     {"optimizer_bytes", rank.optimizer},
                     {"checkpoint_bytes", rank.checkpoint},
                     {"activation_bytes", rank.activations},
                     {"total_bytes", rank.total()},
                     {"live_microbatches", rank.live_microbatches}});
  }
  config::Json groups = config::Json::array();
  for (const OptimizerGroup& group : summary.groups) {
    groups.push_back({{"weight_decay", group.settings.weight_decay},
                      {"lr_multiplier", group.settings.lr_multiplier},
                      {"tensors", group.tensors},
                      {"parameters", group.elements},
                      {"examples", group.examples}});
    if (group.settings.betas) groups.back()["betas"] = *group.settings.betas;
    if (!group.by.empty()) groups.back()["by"] = group.by;
  }
  config::Json out = {{"world_size", summary.world_size},
                      {"num_nodes", summary.num_nodes},
                      {"schedule", summary.schedule},
                      {"microbatches", summary.microbatches},
                      {"sequence_length", nullptr},
                      {"bubble", summary.bubble},
                      {"parameters", summary.parameters},
                      {"active_parameters", summary.active_parameters},
                      {"flops_per_token", summary.flops_per_token},
                      {"stages", stages},
                      {"memory", ranks},
                      {"optimizer_groups", groups}};
  if (summary.sequence_length) out["sequence_length"] = *summary.sequence_length;
  return out;
}

}  // namespace d9d
