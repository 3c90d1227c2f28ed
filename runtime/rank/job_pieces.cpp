#include "runtime/rank/job_pieces.hpp"

#include <map>

#include "runtime/metric/compose.hpp"
#include "runtime/metric/expert_load.hpp"
#include "runtime/metric/tensor_statistics.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/nn/size/model_description.hpp"
#include "runtime/rank/measured/rank_experts.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/measured/watched_tensors.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"

namespace d9d {
namespace {

std::function<bool(std::uint64_t)> due_after(config::Period period, std::uint64_t total_steps) {
  return [=](std::uint64_t step) {
    return config::is_due(period, static_cast<std::int64_t>(step), static_cast<std::int64_t>(total_steps),
                          true);
  };
}

void declare_statistics(const JobConfig& job, Compose& metrics) {
  const auto& statistics = job.trainer.logging.statistics;
  if (statistics.empty() || job.inference) return;
  std::vector<std::string> groups;
  for (const auto& [group, pattern] : statistics) groups.push_back(group);
  metrics.add(statistics_name,
              std::make_unique<TensorStatistics>(std::move(groups), job.trainer.logging.histograms));
}

}  // namespace

std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps) {
  auto periodic = due_after(job.trainer.checkpointing.period_steps, total_steps);
  if (!job.export_to && !job.export_adapter_to) return periodic;
  return [periodic, total_steps](std::uint64_t step) { return step == total_steps || periodic(step); };
}

std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps) {
  return due_after(job.trainer.logging.period_steps, total_steps);
}

std::function<bool(std::uint64_t)> evaluation_due(const JobConfig& job, std::uint64_t total_steps) {
  return due_after(job.evaluation->period_steps, total_steps);
}

bool logs_expert_load(const JobConfig& job, const ModelDescription* model) {
  return job.trainer.logging.expert_load != LoggedLoad::none && model != nullptr &&
         model->experts_per_layer() > 0;
}

bool logs_flops(const JobConfig& job, const ModelDescription* model) {
  const LoggingConfig& logging = job.trainer.logging;
  return (logging.peak_flops || logging.measure_peak) && model != nullptr;
}

// In an inference job only forward passes run, which are a third of the operations of training.
std::function<double(std::int64_t)> flops_per_token(const JobConfig& job, const ModelDescription* model) {
  if (!logs_flops(job, model)) return {};
  return [model, share = job.inference ? 1.0 / 3 : 1.0,
          known = std::map<std::int64_t, double>()](std::int64_t length) mutable {
    const auto [at, is_new] = known.try_emplace(length);
    if (is_new) at->second = share * training_flops_per_token(*model, length);
    return at->second;
  };
}

void declare_metrics(const JobConfig& job, const ModelDescription* model, const TrainTask& task,
                     const std::vector<std::shared_ptr<GradientHook>>& hooks, Compose& metrics) {
  declare_task_metrics(task, metrics);
  for (const auto& hook : hooks) hook->create_metrics(metrics);
  declare_statistics(job, metrics);
  if (!logs_expert_load(job, model)) return;
  const bool each_layer = job.trainer.logging.expert_load == LoggedLoad::layers;
  metrics.add(expert_load_name,
              std::make_unique<ExpertLoad>(model->num_all_layers(), model->experts_per_layer(), each_layer));
}

RankContext rank_context(const PieceContext& job, const Plan& plan, int rank, std::uint64_t first_step,
                         const OpenTaskGroup& open) {
  RankContext context{job};
  context.rank = rank;
  context.world_size = plan.world_size();
  context.placement = plan.placement(rank);
  context.first_step = first_step;
  context.group = [&plan, open](const std::vector<std::string>& axes) {
    return RankGroup(open(domain_with(axes, plan.domains()), axes, "task"));
  };
  return context;
}

}  // namespace d9d
