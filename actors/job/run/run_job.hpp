#pragma once
// Runs a job in this process: makes its world, starts the node, waits for the end.

#include <optional>
#include <vector>

#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

// What is known of a job before its pieces are made.
struct PlannedJob {
  std::optional<JobPlan> plan;  // none: a plan follows when the pieces are made
  // Estimated for each pipeline rank, for reports of a full device; empty: nothing is.
  std::vector<RankMemory> memory;
};

// Returns the exit code: 0 done, 2 the job's input is at fault, 1 anything else. Reports on stderr what
// went wrong.
int run_job(const LoadedJob& loaded, const RunOptions& options, PlannedJob planned);

}  // namespace d9d
