#pragma once
// What the actors of a rank need to know from the job file, as values and functions. No torch.

#include <cstdint>
#include <functional>

#include "runtime/task/job_config.hpp"

namespace d9d {

// Whether a checkpoint is due after so many steps. An export needs one of the last step, whatever the period.
std::function<bool(std::uint64_t)> checkpoint_due(const JobConfig& job, std::uint64_t total_steps);
std::function<bool(std::uint64_t)> metrics_due(const JobConfig& job, std::uint64_t total_steps);

}  // namespace d9d
