#pragma once
// What a launcher or scheduler says in environment variables about this process's place in the job.

#include "runtime/launch/launch_place.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

// Fills what the command line and the job file left open: first from NODE_RANK, NNODES, MASTER_ADDR and
// MASTER_PORT, then from a launcher's own variables (launch_place.hpp). `notes` of the result say where two
// sources contradict each other. Rank 0 listens where torch would, as far as the job protects what is open. Input
// error, naming the variable, for one that is missing or not what it has to be, and for a mesh that the processes
// cannot share equally.
RunOptions with_environment(RunOptions options, const JobConfig& job, const Variables& variables);

// The environment of this process.
Variables environment_variables();

}  // namespace d9d
