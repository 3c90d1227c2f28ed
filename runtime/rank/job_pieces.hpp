#pragma once
// What the actors of a rank need to know from the job file, as values and functions. No torch.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

class Communicator;
class Compose;
class GradientHook;
class Plan;
class TrainTask;
struct ModelDescription;
struct PieceContext;
struct RankContext;

// Whether a checkpoint is due after so many steps. An export needs one of the last step, whatever the period.
std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps);
std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps);
// The job has the section.
std::function<bool(std::uint64_t)> evaluation_due(const JobConfig& job, std::uint64_t total_steps);

// The name of the loads of experts among the metrics; their values are `expert_load/...`.
inline constexpr const char* expert_load_name = "expert_load";
// Whether the job asks for them and `model`, the description of a built-in one or null, has experts.
bool logs_expert_load(const JobConfig& job, const ModelDescription* model);
// Whether it asks for flops_per_second and mfu, and `model` says what it needs.
bool logs_flops(const JobConfig& job, const ModelDescription* model);
// Then: those of a token in a sequence of `length`; empty otherwise. `model` outlives it. One thread.
std::function<double(std::int64_t length)> flops_per_token(const JobConfig& job,
                                                           const ModelDescription* model);
// The name of `trainer.logging.statistics` among the metrics; their values are `statistics/...`.
inline constexpr const char* statistics_name = "statistics";
// Declares the metrics of the task and the hooks, the statistics of tensors that the job asks for, and the loads of
// experts where logs_expert_load().
void declare_metrics(const JobConfig& job, const ModelDescription* model, const TrainTask& task,
                     const std::vector<std::shared_ptr<GradientHook>>& hooks, Compose& metrics);

using OpenTaskGroup = std::function<std::shared_ptr<Communicator>(
    const std::string& domain, const std::vector<std::string>& axes, const std::string& use)>;
// What the task of a rank is told. Groups have the axes of the first domain that has them all.
RankContext rank_context(const PieceContext& job, const Plan& plan, int rank, std::uint64_t first_step,
                         const OpenTaskGroup& open);

}  // namespace d9d
