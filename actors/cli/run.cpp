// d9d-node run: this host's part of a job.
#include "actors/cli/running_commands.hpp"

#include <atomic>
#include <cstdio>
#include <random>
#include <sstream>
#include <utility>

#include "actors/cli/device.hpp"
#include "actors/cli/job_options.hpp"
#include "actors/job/folder/results.hpp"
#include "actors/job/process/node_devices.hpp"
#include "actors/job/run/run_job.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/determinism.hpp"
#include "runtime/device/memory_report.hpp"
#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/job/sample_length.hpp"
#include "runtime/launch/job_token.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/process_place.hpp"
#include "runtime/launch/supervisor.hpp"
#include "runtime/launch/worker_call.hpp"

namespace d9d {
namespace {

constexpr double bytes_of_mib = 1 << 20;
constexpr int wrong_input = 2;  // the exit code when nothing was begun

// The devices of this host, and the plan by which their memory is estimated. The job keeps the plan.
struct DevicesAndPlan {
  DeviceSummary devices;
  std::optional<JobPlan> plan;
};

DevicesAndPlan look_at_device(const LoadedJob& loaded) {
  const JobConfig& job = loaded.job;
  const ScheduleConfig& schedule = job.trainer.pipelining.schedule;
  if (job.node.device == DeviceKind::cpu) return {};
  DevicesAndPlan found;
  if (job.node.device == DeviceKind::cuda) found.devices.driver = find_cuda_driver();
  // A plugin's schedule is made later, so the number of its waiting activations is not known yet.
  if (std::holds_alternative<OwnSchedule>(schedule)) return found;
  found.plan = plan_job(loaded, schedule);
  found.devices.ranks = estimate_memory(loaded, *found.plan, forecast_step(job, schedule, *found.plan),
                                        sample_length(job.data));
  return found;
}

// Runs the ranks of this process.
int compute(const LoadedJob& loaded, RunOptions options, DevicesAndPlan found,
            const TensorBytes& tensor_bytes_max) {
  const JobConfig& job = loaded.job;
  if (job.node.device == DeviceKind::cuda && job.trainer.determinism.strict) compute_deterministically();
  require_protected_collectives(job, ranks_of_process(job, options), options);
  require_device(job, place_of_process(job, options), found.devices);  // before anything is written
  std::atomic<bool> began = false;                                     // set on an actor's thread
  options.on_training = [&began] { began = true; };
  const int code = run_job(loaded, options, {std::move(found.plan), std::move(found.devices.ranks)});
  for (const std::string& line : peak_lines()) log::info("{}", line);
  const double peak = static_cast<double>(tensor_bytes_max()) / bytes_of_mib;
  log::debug("besides parameters, gradients and optimizer state tensors took {:.1f} MiB a rank",
             peak / ranks_of_process(job, options));
  // A start that was refused has written nothing.
  if (options.join || code == wrong_input || !began) return code;
  for (const std::string& line : results_of(job)) log::info("{}", line);
  return code;
}

// Starts the processes that share this command's ranks.
int share(const LoadedJob& loaded, const RunOptions& options, int processes, const DeviceSummary& device,
          const std::vector<std::string>& words, const std::string& text) {
  const JobConfig& job = loaded.job;
  require_protected_collectives(job, ranks_of_process(job, options), options);
  SupervisorOptions supervisor{
      .words = words, .job = text, .grace = std::chrono::seconds(job.node.stop_grace)};
  std::random_device random;
  supervisor.command = std::uint64_t{random()} << 32 | random() | 1;
  supervisor.secret = net::random_text();
  for (const ProcessPlace& place : places_of_command(job, options, processes)) {
    require_places(job, place, device);
    supervisor.workers.push_back(process_text(job, place, device));
  }
  return supervise(supervisor, SystemClock());
}

int run_worker(const LoadedJob& loaded, const RunOptions& options, const WorkerCall& call,
               const TensorBytes& tensor_bytes_max) {
  // Line by line, because lines of other processes come between.
  if (call.worker.share.index == 0) std::setvbuf(stderr, nullptr, _IOLBF, BUFSIZ);
  RunOptions own = options_of_worker(options, loaded.job, call.worker, call.join);
  own.on_ready = [&call](const std::string& address) { report_ready(call, address); };
  return compute(loaded, std::move(own), look_at_device(loaded), tensor_bytes_max);
}

int run(const Arguments& arguments, Console& console, const std::string& build,
        const std::vector<std::string>& words, const TensorBytes& tensor_bytes_max) {
  const Variables variables = environment_variables();
  const auto call = take_worker_call(variables);
  std::ostringstream said_before;  // the command that started this process has said it
  Console quiet{console.out, said_before};
  const auto handed = call ? job_text_of(*call) : std::nullopt;
  const std::string text = handed ? *handed : job_text(arguments);
  const LoadedJob loaded = load_job(arguments, call ? quiet : console, text);
  if (const auto level = arguments.value("--log-level")) log::set_level(log::level_from(*level));
  RunOptions options{.join = arguments.value("--join"),
                     .listen = arguments.value("--listen"),
                     .build = build,
                     .fresh = arguments.has("--fresh")};
  options = with_environment(std::move(options), loaded.job, variables);
  JobToken token = job_token(loaded.job.node, variables);
  options.secret = std::move(token.secret);
  if (call) return run_worker(loaded, options, *call, tensor_bytes_max);
  if (says_token(arguments.values("--set"))) {
    token.warnings.push_back(
        fmt::format("--set node.job_token: every user of this host can read a command line; take "
                    "node.job_token_file or {}",
                    token_variable));
  }
  for (const auto* notes : {&options.notes, &token.warnings}) {
    for (const std::string& note : *notes) log::warn("{}", note);
  }
  DevicesAndPlan found = look_at_device(loaded);
  const int here = devices_here(loaded.job, ranks_of_process(loaded.job, options), found.devices.driver);
  const int processes = processes_of(loaded.job, options, here);
  if (processes > 1) return share(loaded, options, processes, found.devices, words, text);
  return compute(loaded, std::move(options), std::move(found), tensor_bytes_max);
}

}  // namespace

Command run_command(const std::string& build, const std::vector<std::string>& words,
                    const TensorBytes& tensor_bytes_max) {
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
                  {"--log-level", "debug|info|warn|error|off", "how much is logged; without it: info"}},
      .run = [=](const Arguments& arguments,
                 Console& console) { return run(arguments, console, build, words, tensor_bytes_max); },
      .details =
          "Without --join and --listen the environment counts: NODE_RANK, NNODES, MASTER_ADDR and "
          "MASTER_PORT, else what srun, mpirun or torchrun say. Without ranks given every process takes an "
          "equal share. A job that has a committed checkpoint goes on from it, unless --fresh is given. With "
          "node.processes the command starts several processes of this host, which share its ranks, and ends "
          "when all have ended.\n",
      .examples = {"run job.yaml --set trainer.schedule.total_steps=100",
                   "run job.yaml --listen 10.0.0.1:29500", "run job.yaml --join 10.0.0.1:29500"}};
}

}  // namespace d9d
