#include "actors/cli_summary.hpp"

#include <algorithm>

#include "runtime/base/config/decode.hpp"
#include "runtime/data/npy.hpp"
#include "runtime/nn/model_costs.hpp"
#include "runtime/nn/parallel/tensor_parallel_limits.hpp"
#include "runtime/nn/state_memory.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulator.hpp"
#include "runtime/task/context_rules.hpp"

namespace d9d {
namespace {

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

std::int64_t bytes_of_parameter(const JobConfig& job) {
  const auto bytes = [](const auto& provider) -> std::int64_t {
    if constexpr (requires { provider.dtype; }) return provider.dtype == ModelDtype::float32 ? 4 : 2;
    return 4;
  };
  return std::visit(bytes, job.model_provider);
}

// Per element: AdamW's two moments, which stochastic AdamW may keep in bfloat16.
std::int64_t bytes_of_optimizer(const JobConfig& job) {
  const auto* stochastic = std::get_if<StochasticAdamWConfig>(&job.optimizer);
  return stochastic != nullptr && stochastic->state_dtype == OptimizerStateDtype::bfloat16 ? 4 : 8;
}

StateMemoryOptions state_options(const JobConfig& job, std::int64_t microbatches) {
  const FullyShardOptions& fully_shard = job.parallelism.fully_shard;
  const bool pipeline = job.mesh.pipeline_parallel > 1;
  const int shards = job.mesh.data_parallel_shard * job.mesh.context_parallel_shard;
  const bool zero1 = job.parallelism.zero1 && shards == 1;
  StateMemoryOptions options;
  options.parameter_bytes = bytes_of_parameter(job);
  const auto& grad_dtype = job.trainer.gradient_manager.grad_dtype;
  options.gradient_bytes = grad_dtype == GradDtype::float32 ? 4 : options.parameter_bytes;
  options.optimizer_bytes = bytes_of_optimizer(job);
  options.expert_ranks = job.mesh.expert_parallel;
  options.shards = zero1 ? job.mesh.data_parallel_replicate : shards;
  options.keeps_values = zero1 || fully_shard.reshard_after_forward == ReshardAfterForward::never ||
                         (fully_shard.reshard_after_forward == ReshardAfterForward::default_ && pipeline);
  options.keeps_gradients = microbatches > 1 && (zero1 || fully_shard.reduce == ReducePeriod::step);
  options.adds_gradients = microbatches > 1 && !options.keeps_gradients;
  return options;
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
                                                 static_cast<int>(bytes_of_parameter(job)), false,
                                                 job.mesh.tensor_parallel));
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
    std::vector<StagePosition> stages;
    for (const StageSummary& stage : summary.stages) {
      if (stage.pipeline_rank == pp) stages.push_back({stage.stage, num_stages});
    }
    const StateMemory state = state_memory(config_of_tensor_rank(model, loaded.job.mesh.tensor_parallel),
                                           stages, state_options(loaded.job, summary.microbatches));
    rank.parameters = state.parameters + state.gathered;
    rank.gradients = state.gradients + state.whole_gradients;
    rank.optimizer = state.optimizer;
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
