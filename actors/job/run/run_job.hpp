#pragma once
// Runs a job in this process: makes its world, starts the node, waits for the end.

#include <vector>

#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

// Returns the exit code: 0 done, 2 the job's input is at fault, 1 anything else. Reports on stderr what
// went wrong. `memory`: estimated for each pipeline rank, for reports of a full device; empty: nothing is
// estimated.
int run_job(const LoadedJob& loaded, const RunOptions& options, const std::vector<RankMemory>& memory);

}  // namespace d9d
