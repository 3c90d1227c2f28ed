// d9d-node run: this host's part of a job.
#include "actors/cli/running_commands.hpp"

#include "actors/cli/device.hpp"
#include "actors/cli/job_options.hpp"
#include "actors/cli/summary.hpp"
#include "actors/job/launch_environment.hpp"
#include "actors/job/node_devices.hpp"
#include "actors/job/results.hpp"
#include "actors/job/run_job.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/determinism.hpp"
#include "runtime/device/memory_report.hpp"
#include "runtime/task/sample_length.hpp"

namespace d9d {
namespace {

constexpr double bytes_of_mib = 1 << 20;
constexpr int wrong_input = 2;  // nothing was begun

// Before anything is written. What is estimated of each pipeline rank.
std::vector<ExpectedMemory> look_at_device(const LoadedJob& loaded, const RunOptions& options) {
  const DeviceKind kind = loaded.job.node.device;
  if (kind == DeviceKind::cpu) return {};
  if (kind == DeviceKind::cuda && loaded.job.trainer.determinism.strict) compute_deterministically();
  const ScheduleConfig& schedule = loaded.job.trainer.pipelining.schedule;
  // A plugin's schedule is made later: how many activations wait under it nobody knows yet.
  const auto ranks = std::holds_alternative<OwnSchedule>(schedule)
                         ? std::vector<RankMemory>()
                         : summarize(loaded, schedule, sample_length(loaded.job.data)).ranks;
  const int ranks_here = ranks_of_process(loaded.job, options);
  require_protected_collectives(loaded.job, ranks_here, options);
  require_device(loaded.job, ranks_here,
                 {kind == DeviceKind::cuda ? find_cuda_driver() : std::nullopt, ranks});
  std::vector<ExpectedMemory> expected;
  for (const RankMemory& rank : ranks) expected.push_back(expected_of(rank));
  return expected;
}

int run(const Arguments& arguments, Console& console, const std::string& build,
        const TensorBytes& tensor_bytes_max) {
  const LoadedJob loaded = load_job(arguments, console);
  if (const auto level = arguments.value("--log-level")) log::set_level(log::level_from(*level));
  RunOptions options{.join = arguments.value("--join"),
                     .listen = arguments.value("--listen"),
                     .build = build,
                     .fresh = arguments.has("--fresh")};
  options = with_environment(std::move(options), loaded.job, environment_variables());
  for (const std::string& note : options.notes) log::warn("{}", note);
  options.expected_memory = look_at_device(loaded, options);
  const int code = run_job(loaded, options);
  for (const std::string& line : peak_lines()) log::info("{}", line);
  const double ranks = static_cast<double>(loaded.job.node.ranks.value_or(loaded.job.mesh.world_size()));
  const double peak = static_cast<double>(tensor_bytes_max()) / bytes_of_mib;
  log::debug("besides parameters, gradients and optimizer state tensors took {:.1f} MiB a rank",
             peak / ranks);
  if (options.join || code == wrong_input) return code;
  for (const std::string& line : results_of(loaded.job)) log::info("{}", line);
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
                  {"--fresh", "", "begin at step 1; checkpoints that are there are kept under other names"},
                  {"--log-level", "LEVEL", "debug, info (without it), warn, error or off"}},
      .run = [=](const Arguments& arguments,
                 Console& console) { return run(arguments, console, build, tensor_bytes_max); },
      .details =
          "Without --join and --listen the environment counts: NODE_RANK, NNODES, MASTER_ADDR and "
          "MASTER_PORT, "
          "else what srun, mpirun or torchrun say. Without ranks given every process takes an equal share. A "
          "job that has a committed checkpoint goes on from it, unless --fresh is given.\n",
      .examples = {"run job.yaml --set trainer.schedule.total_steps=100",
                   "run job.yaml --listen 10.0.0.1:29500", "run job.yaml --join 10.0.0.1:29500"}};
}

}  // namespace d9d
