#pragma once
// Whether rows that a job holds out of training (data.validation) may be among those that it has trained on.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/job/job_difference.hpp"

namespace d9d {

// Returns a warning where `differences` from the keys of a checkpoint choose other rows to hold out than the run held
// out before `steps` steps were done; empty where they do not.
std::string told_held_out(const std::vector<KeyDifference>& differences, const JobConfig& now,
                          std::uint64_t steps);

}  // namespace d9d
