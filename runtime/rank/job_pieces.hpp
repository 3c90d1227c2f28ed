#pragma once
// What the actors of a rank need to know from the job file, as values and functions. No torch.

#include <cstdint>
#include <functional>

#include "runtime/task/job_config.hpp"

namespace d9d {

class Compose;
class TrainTask;
struct ModelDescription;

// Whether a checkpoint is due after so many steps. An export needs one of the last step, whatever the period.
std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps);
std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps);
// The job has the section.
std::function<bool(std::uint64_t)> evaluation_due(const JobConfig& job, std::uint64_t total_steps);

// The name of the loads of experts among the metrics; their values are `expert_load/...`.
inline constexpr const char* expert_load_name = "expert_load";
// Whether the job asks for them and `model`, the description of a built-in one or null, has experts.
bool logs_expert_load(const JobConfig& job, const ModelDescription* model);
// The name of `trainer.logging.statistics` among the metrics; their values are `statistics/...`.
inline constexpr const char* statistics_name = "statistics";
// Declares the metrics of the task, the statistics of tensors that the job asks for, and the loads of experts where logs_expert_load().
void declare_metrics(const JobConfig& job, const ModelDescription* model, const TrainTask& task,
                     Compose& metrics);

}  // namespace d9d
