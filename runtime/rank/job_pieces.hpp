#pragma once
// What the actors of a rank need to know from the job file, as values and functions. No torch.

#include <cstdint>
#include <functional>

#include "runtime/task/job_config.hpp"

namespace d9d {

// The multiplier of the base learning rate for a step counted from 1: the first step runs at the schedule's
// point 0. `total_steps` is the length of the run, whether the job or the data says it.
std::function<double(std::uint64_t)> step_multiplier(JobConfig job, std::uint64_t total_steps);
// Input error: no optimizer of ours has that name.
OptimizerOptions optimizer_of(const JobConfig& job);
double base_learning_rate(const OptimizerOptions& optimizer);
// Whether a checkpoint is due after so many steps. An export needs one of the last step, whatever the period.
std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps);
std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps);

}  // namespace d9d
