#pragma once
// Runs a job in this process: makes its world, starts the node, waits for the end.

#include "runtime/job/job_load.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

// The exit code: 0 done, 2 the job's input is at fault, 1 anything else. Reports what went wrong on stderr.
int run_job(const LoadedJob& loaded, const RunOptions& options);

}  // namespace d9d
