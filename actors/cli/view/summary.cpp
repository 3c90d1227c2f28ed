#include "actors/cli/view/summary.hpp"

#include "runtime/base/config/decode.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/nn/size/model_costs.hpp"

namespace d9d {
namespace {

config::Json stages_json(const JobSummary& summary) {
  config::Json stages = config::Json::array();
  if (summary.ranks.empty()) return stages;  // a plugin's model
  for (const StagePlan& stage : summary.plan.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"pipeline_rank", stage.pipeline_rank},
                      {"layers", {stage.layers.begin, stage.layers.end}},
                      {"parameters", stage.parameters}});
  }
  return stages;
}

config::Json memory_json(const std::vector<RankMemory>& ranks) {
  config::Json memory = config::Json::array();
  for (const RankMemory& rank : ranks) {
    memory.push_back({{"pipeline_rank", rank.pipeline_rank},
                      {"parameter_bytes", rank.parameters},
                      {"gradient_bytes", rank.gradients},
                      {"optimizer_bytes", rank.optimizer},
                      {"checkpoint_bytes", rank.checkpoint},
                      {"activation_bytes", rank.activations},
                      {"loss_bytes", rank.loss},
                      {"text_bytes", rank.texts},
                      {"stream_bytes", rank.second_stream},
                      {"total_bytes", rank.total()},
                      {"live_microbatches", rank.live_microbatches}});
  }
  return memory;
}

config::Json groups_json(const std::vector<OptimizerGroup>& groups) {
  config::Json out = config::Json::array();
  for (const OptimizerGroup& group : groups) {
    out.push_back({{"weight_decay", group.settings.weight_decay},
                   {"lr_multiplier", group.settings.lr_multiplier},
                   {"tensors", group.tensors},
                   {"parameters", group.elements},
                   {"examples", group.examples}});
    if (group.settings.betas) out.back()["betas"] = *group.settings.betas;
    if (!group.by.empty()) out.back()["by"] = group.by;
  }
  return out;
}

}  // namespace

JobSummary summarize(const LoadedJob& loaded, const ScheduleConfig& schedule, JobPlan plan,
                     std::optional<std::int64_t> sequence_length, const std::vector<WrittenTexts>& texts) {
  const JobConfig& job = loaded.job;
  JobSummary summary;
  summary.schedule = std::string(name_of(schedule));
  summary.world_size = job.mesh.world_size();
  summary.num_nodes = summary.world_size / static_cast<int>(job.node.ranks.value_or(summary.world_size));
  summary.sequence_length = sequence_length;
  summary.plan = std::move(plan);
  summary.forecast = forecast_step(job, schedule, summary.plan);
  if (!loaded.model) return summary;
  const ParameterCounts counts = count_parameters(*loaded.model);
  summary.parameters = counts.total;
  summary.active_parameters = counts.active;
  if (sequence_length) summary.flops_per_token = training_flops_per_token(*loaded.model, *sequence_length);
  if (!job.inference) summary.groups = optimizer_groups(job, *loaded.model);
  summary.ranks = estimate_memory(loaded, summary.plan, summary.forecast, sequence_length, texts);
  return summary;
}

config::Json to_json(const JobSummary& summary) {
  config::Json out = {{"world_size", summary.world_size},
                      {"num_nodes", summary.num_nodes},
                      {"schedule", summary.schedule},
                      {"microbatches", summary.plan.microbatches},
                      {"sequence_length", nullptr},
                      {"bubble", summary.forecast.bubble},
                      {"parameters", summary.parameters},
                      {"active_parameters", summary.active_parameters},
                      {"flops_per_token", summary.flops_per_token},
                      {"stages", stages_json(summary)},
                      {"memory", memory_json(summary.ranks)},
                      {"optimizer_groups", groups_json(summary.groups)}};
  if (summary.sequence_length) out["sequence_length"] = *summary.sequence_length;
  return out;
}

}  // namespace d9d
