#pragma once
// Runs a job in this process: makes its world, starts the node, waits for the end.

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/version.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/task/job_load.hpp"

namespace d9d {

struct RunOptions {
  std::optional<std::string> join;    // HOST:PORT of node 0; none: this is node 0
  std::optional<std::string> listen;  // HOST:PORT; overrides node.listen
  std::optional<int> ranks;           // overrides node.ranks
  int node_index = -1;                // wished place (NODE_RANK)
  std::optional<int> num_nodes;       // NNODES, or what a launcher says
  std::string build = build_id();     // how this process introduces itself; node 0 refuses another one
  bool fresh = false;                 // --fresh: begin at step 1 although there are checkpoints
  int processes_here = 1;             // of this job on this host, as far as a launcher says it
  std::string address_from;           // the variable that says where node 0 is; empty: none does
  std::vector<std::string> notes;     // what the environment says and the user should know
  std::vector<ExpectedMemory> expected_memory{};  // by pipeline rank; empty: nothing is estimated
};

// That compute here, as far as the job and the launcher say it; else all of the mesh.
int ranks_of_process(const JobConfig& job, const RunOptions& options);

// The exit code: 0 done, 2 the job's input is at fault, 1 anything else. Reports what went wrong on stderr.
int run_job(const LoadedJob& loaded, const RunOptions& options);

}  // namespace d9d
