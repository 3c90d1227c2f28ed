#pragma once
// What a launcher or scheduler says in environment variables about this process's place in the job.

#include "actors/job/run_job.hpp"

namespace d9d {

// Fills what the command line left open from the usual variables: MASTER_ADDR, MASTER_PORT, NODE_RANK,
// NNODES, or SLURM_NODEID, SLURM_NNODES. Input error for one that is not what it has to be.
RunOptions with_environment(RunOptions options);

}  // namespace d9d
