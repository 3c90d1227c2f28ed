#pragma once
// The parts of the job file that the actors of a rank need, as values and functions. No torch.

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

// Tells whether a checkpoint is due after a step (from 1). A job with an export needs one after the
// last step, whatever the period.
std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps);
std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps);
// The job must have the section `evaluation`.
std::function<bool(std::uint64_t)> evaluation_due(const JobConfig& job, std::uint64_t total_steps);

// Whether the job logs the loads of experts and the model has some. `model`: null for a plugin's.
bool logs_expert_load(const JobConfig& job, const ModelDescription* model);
// Whether the job logs flops_per_second and mfu, and they can be computed: not for a plugin's model (null).
bool logs_flops(const JobConfig& job, const ModelDescription* model);
// Returns the floating-point operations of a token in a sequence of `length`; empty unless logs_flops().
// `model` must outlive the result. Call the result on one thread only.
std::function<double(std::int64_t length)> flops_per_token(const JobConfig& job,
                                                           const ModelDescription* model);
// Declares the metrics of the task and of the hooks, the statistics of tensors that the job logs, and the
// loads of experts if logs_expert_load().
void declare_metrics(const JobConfig& job, const ModelDescription* model, const TrainTask& task,
                     const std::vector<std::shared_ptr<GradientHook>>& hooks, Compose& metrics);

using OpenTaskGroup = std::function<std::shared_ptr<Communicator>(
    const std::string& domain, const std::vector<std::string>& axes, const std::string& use)>;
// Makes the context that the task of a rank gets. A group is opened in the first
// domain that has all of its axes.
RankContext rank_context(const PieceContext& job, const Plan& plan, int rank, std::uint64_t first_step,
                         const OpenTaskGroup& open);

}  // namespace d9d
