#pragma once
// What the command line, the environment and a launcher say of the place that this process has in its job.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/version.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/launch/host_share.hpp"
#include "runtime/net/proof.hpp"

namespace d9d {

// One of the processes that a command starts on its host.
struct Worker {
  Share share{};
  std::uint64_t command = 0;  // random number of the command
  std::string secret{};       // random, too; the number is no secret
};

struct RunOptions {
  std::optional<std::string> join;    // HOST:PORT of node 0; none: this is node 0
  std::optional<std::string> listen;  // HOST:PORT; overrides node.listen
  std::optional<int> ranks;           // of this process; overrides node.ranks
  int node_index = -1;                // wished place (NODE_RANK)
  std::optional<int> num_nodes;       // NNODES, or what a launcher says
  std::string build = build_id();     // how this process introduces itself; node 0 refuses another one
  bool fresh = false;                 // --fresh: begin at step 1 although there are checkpoints
  HostShare share{};                  // of this host, as far as a launcher and the command say it
  std::uint64_t command = 0;          // that has started this process beside others; 0: the user has
  net::Secret secret{};               // of the job
  std::string address_from;           // the variable that says where node 0 is; empty: none does
  std::vector<std::string> notes;     // what the environment says and the user should know
  // Nothing is wrong with the job here, and the other processes of this host find node 0 there. May be empty.
  std::function<void(const std::string& address)> on_ready{};
  std::function<void()>
      on_training{};  // of node 0: all have joined, and training begins. Any thread. May be empty
};

// 0: as many as the others leave.
std::uint32_t ranks_offered(const JobConfig& job, const RunOptions& options);
// That compute here, as far as the job and the launcher say it; else all of the mesh.
int ranks_of_process(const JobConfig& job, const RunOptions& options);

}  // namespace d9d
