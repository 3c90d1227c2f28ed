// d9d-node run: this host's part of a job.
#include "actors/cli_run.hpp"

#include "actors/cli_job.hpp"
#include "actors/run_job.hpp"

namespace d9d {
namespace {

int run(const Arguments& arguments, Console& console, const std::string& build) {
  const LoadedJob loaded = load_job(arguments, console);
  RunOptions options{
      .join = arguments.value("--join"), .listen = arguments.value("--listen"), .build = build};
  return run_job(loaded, with_environment(std::move(options)));
}

}  // namespace

Command run_command(const std::string& build) {
  return {
      .name = "run",
      .positional = "JOB.yaml",
      .summary = "run this host's part of a job",
      .positional_min = 1,
      .positional_max = 1,
      .options = {set_option(),
                  ranks_option(),
                  {"--join", "HOST:PORT", "join the job whose node 0 listens there"},
                  {"--listen", "HOST:PORT", "be node 0 and listen there; port 0 takes a free one"}},
      .run = [build](const Arguments& arguments, Console& console) { return run(arguments, console, build); },
      .details =
          "Without --join and --listen the usual variables count: MASTER_ADDR, MASTER_PORT and NODE_RANK (or "
          "SLURM's). A job that has a committed checkpoint goes on from it.\n"};
}

}  // namespace d9d
