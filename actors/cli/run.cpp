// d9d-node run: this host's part of a job.
#include "actors/cli/running_commands.hpp"

#include "actors/cli/job_options.hpp"
#include "actors/job/launch_environment.hpp"
#include "actors/job/run_job.hpp"
#include "runtime/base/log.hpp"
#include "runtime/task/context_rules.hpp"

namespace d9d {
namespace {

constexpr double bytes_of_mib = 1 << 20;

int run(const Arguments& arguments, Console& console, const std::string& build,
        const TensorBytes& tensor_bytes_max) {
  const LoadedJob loaded = load_job(arguments, console);
  required_sample_length(loaded.job);  // before the run folder exists
  RunOptions options{.join = arguments.value("--join"),
                     .listen = arguments.value("--listen"),
                     .build = build,
                     .fresh = arguments.has("--fresh")};
  const int code = run_job(loaded, with_environment(std::move(options)));
  const double ranks = static_cast<double>(loaded.job.node.ranks.value_or(loaded.job.mesh.world_size()));
  const double peak = static_cast<double>(tensor_bytes_max()) / bytes_of_mib;
  if (code == 0)
    log::info("besides parameters, gradients and optimizer state tensors took {:.1f} MiB a rank",
              peak / ranks);
  return code;
}

}  // namespace

Command run_command(const std::string& build, const TensorBytes& tensor_bytes_max) {
  return {
      .name = "run",
      .positional = "JOB.yaml",
      .summary = "run this host's part of a job",
      .positional_min = 1,
      .positional_max = 1,
      .options = {set_option(),
                  ranks_option(),
                  {"--join", "HOST:PORT", "join the job whose node 0 listens there"},
                  {"--listen", "HOST:PORT",
                   "be node 0 and listen there, port 0 takes a free one; with --join: what this node "
                   "itself listens on"},
                  {"--fresh", "", "begin at step 1; checkpoints that are there are kept under other names"}},
      .run = [=](const Arguments& arguments,
                 Console& console) { return run(arguments, console, build, tensor_bytes_max); },
      .details =
          "Without --join and --listen the usual variables count: MASTER_ADDR, MASTER_PORT and NODE_RANK (or "
          "SLURM's); with NNODES and no ranks given every node takes an equal share. A job that has a "
          "committed checkpoint goes on from it, unless --fresh is given.\n"};
}

}  // namespace d9d
