#pragma once
// The text about a run that continues with another batch size.

#include <string>

#include "runtime/job/job_length.hpp"

namespace d9d {

// Says with which sample the next step begins, how many steps are left, and where the phases of the learning
// rate stay. Empty when the batch size has not changed. `state`: of the checkpoint, JSON.
std::string told_other_batch(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                             const JobPosition& at, const std::string& state);

}  // namespace d9d
