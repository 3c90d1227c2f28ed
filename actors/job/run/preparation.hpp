#pragma once
// Finds everything that can be found wrong with a job before it forms. `run` begins with it and `check`
// consists of it, so both find the same and say it in the same words. Writes nothing.

#include <optional>

#include "actors/job/process/prepared_job.hpp"
#include "runtime/launch/run_options.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Throws one error with a line for each thing that is wrong. Makes and drops one task and one of each of
// the job's own actors, because their sections are read when they are made. `loaded` and `disk` outlive the
// result. `plan`: the job's, where somebody has made it already; none where a plugin's schedule is to be made first.
PreparedJob prepare_job(const LoadedJob& loaded, const RunOptions& options, Disk& disk,
                        std::optional<JobPlan> plan = std::nullopt);

}  // namespace d9d
