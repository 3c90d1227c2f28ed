#include "actors/cli_summary.hpp"

#include <algorithm>

#include "runtime/base/config/decode.hpp"
#include "runtime/data/npy.hpp"
#include "runtime/nn/model_costs.hpp"
#include "runtime/nn/parallel/tensor_parallel_limits.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulator.hpp"
#include "runtime/task/context_rules.hpp"

namespace d9d {
namespace {

constexpr std::int64_t bytes_of_element = 4;  // float32 parameters, gradients and moments; others are refused
constexpr std::int64_t moments = 2;           // of AdamW

ScheduleConfig schedule_of(const PipelineScheduleConfig& schedule) {
  const config::Json keys = config::encode(schedule);
  ScheduleKeys out;
  out.schedule = keys["schedule"].get<std::string>();
  if (keys.contains("num_stages_per_rank")) out.num_stages_per_rank = keys["num_stages_per_rank"].get<int>();
  if (keys.contains("zero_bubble")) out.zero_bubble = keys["zero_bubble"].get<bool>();
  if (keys.contains("topology")) out.topology = keys["topology"].get<std::string>();
  if (keys.contains("activations_max") && !keys["activations_max"].is_null())
    out.activations_max = keys["activations_max"].get<int>();
  if (keys.contains("warmup")) out.warmup = keys["warmup"].get<std::string>();
  return schedule_from_keys(out);
}

std::optional<std::int64_t> sequence_length_of(const DataConfig& data) {
  if (const auto* synthetic = std::get_if<SyntheticDataConfig>(&data)) return synthetic->sequence_length;
  if (const auto* text = std::get_if<TextDataConfig>(&data)) return text->sequence_length;
  const auto* tokens = std::get_if<TokensDataConfig>(&data);
  if (!tokens) return std::nullopt;
  const NpyArray array(tokens->tokens);
  return array.shape().size() == 2 ? std::optional(array.shape()[1]) : std::nullopt;
}

// That a rank holds of a stage.
std::int64_t bytes_of_parameters(const LoadedJob& loaded, StagePosition position) {
  const ParameterCounts counts =
      count_parameters(config_of_tensor_rank(*loaded.model, loaded.job.mesh.tensor_parallel), position);
  return (counts.total - counts.experts + counts.experts / loaded.job.mesh.expert_parallel) *
         bytes_of_element;
}

// The stages of a rank share its peak; the largest of them bounds it.
std::int64_t activations_of(const JobSummary& summary, const LoadedJob& loaded, const RankMemory& rank,
                            int stages) {
  if (!summary.sequence_length) return 0;
  const JobConfig& job = loaded.job;
  const std::int64_t tokens =
      job.trainer.batching.microbatch_size * *summary.sequence_length / job.mesh.context_parallel();
  std::int64_t largest = 0;
  for (const StageSummary& stage : summary.stages) {
    if (stage.pipeline_rank != rank.pipeline_rank) continue;
    largest = std::max(largest, activation_bytes(*loaded.model, {stage.stage, stages}, tokens,
                                                 static_cast<int>(bytes_of_element), false,
                                                 loaded.job.mesh.tensor_parallel));
  }
  return largest * rank.live_microbatches;
}

void add_model(const LoadedJob& loaded, const Topology& topology, const Simulation& simulation,
               JobSummary& summary) {
  const Qwen3Config& model = *loaded.model;
  const ParameterCounts counts = count_parameters(model);
  summary.parameters = counts.total;
  summary.active_parameters = counts.active;
  if (summary.sequence_length)
    summary.flops_per_token = training_flops_per_token(model, *summary.sequence_length);
  const int num_stages = topology.num_stages();
  const auto layers =
      distribute_layers(model.num_hidden_layers, num_stages, model.pipeline_num_virtual_layers_pre,
                        model.pipeline_num_virtual_layers_post);
  for (int stage = 0; stage < num_stages; ++stage) {
    const LayerRange& range = layers[static_cast<std::size_t>(stage)];
    summary.stages.push_back({stage, topology.rank_of(stage), range.begin, range.end,
                              count_parameters(model, {stage, num_stages}).total});
  }
  for (int pp = 0; pp < loaded.job.mesh.pipeline_parallel; ++pp) {
    RankMemory rank;
    rank.pipeline_rank = pp;
    rank.live_microbatches = simulation.peak_activations[static_cast<std::size_t>(pp)];
    for (const StageSummary& stage : summary.stages) {
      if (stage.pipeline_rank == pp)
        rank.parameters += bytes_of_parameters(loaded, {stage.stage, num_stages});
    }
    rank.gradients = rank.parameters;
    rank.optimizer = moments * rank.parameters;
    rank.activations = activations_of(summary, loaded, rank, num_stages);
    summary.ranks.push_back(rank);
  }
}

}  // namespace

JobSummary summarize(const LoadedJob& loaded) {
  const JobConfig& job = loaded.job;
  JobSummary summary;
  summary.world_size = job.mesh.world_size();
  summary.num_nodes = summary.world_size / static_cast<int>(job.node.ranks.value_or(summary.world_size));
  summary.microbatches = microbatches_per_step(job);
  summary.sequence_length = sequence_length_of(job.data);
  if (summary.sequence_length) require_sequence(job, sequence_key(job.data), *summary.sequence_length);
  const ScheduleConfig schedule = schedule_of(job.trainer.pipelining.schedule);
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
                     {"activation_bytes", rank.activations},
                     {"total_bytes", rank.total()},
                     {"live_microbatches", rank.live_microbatches}});
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
                      {"memory", ranks}};
  if (summary.sequence_length) out["sequence_length"] = *summary.sequence_length;
  return out;
}

}  // namespace d9d
