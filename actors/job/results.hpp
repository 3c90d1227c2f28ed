#pragma once
// Where a run leaves what: the last lines that its user reads.

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

// A line for each thing that is there: the folder, metrics, TensorBoard, the newest checkpoint, the newest trace, the
// export. None where the run left nothing.
std::vector<std::string> results_of(const JobConfig& job);

}  // namespace d9d
