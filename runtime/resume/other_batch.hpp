#pragma once
// What is said of a run that goes on with another batch size.

#include <string>

#include "runtime/job/job_length.hpp"

namespace d9d {

// With which sample the next step begins, how many steps are left, and where the phases of the learning rate stay.
// Empty where a step takes as many samples as in the steps before. `state`: of the checkpoint, JSON.
std::string told_other_batch(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                             const JobPosition& at, const std::string& state);

}  // namespace d9d
