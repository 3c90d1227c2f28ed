#pragma once
// The last lines that a run prints: where its results are.

#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

// Returns a line for the folder of the run and for each result that exists: metrics, TensorBoard, the
// newest checkpoint, the newest trace, the export. Empty if the run left nothing.
std::vector<std::string> results_of(const JobConfig& job);

}  // namespace d9d
