#include "actors/job/cast/tracker_cast.hpp"

#include <csignal>
#include <nlohmann/json.hpp>
#include <variant>

#include "actors/job/cast/rank_cast.hpp"
#include "actors/job/process/tell_signal.hpp"
#include "actors/tracker.hpp"
#include "kernels/matmul_rate.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/host_limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/launch/node_address.hpp"
#include "runtime/live/live_page.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/tracker_runs.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/state/awake_ranks.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Returns what trackers show as the settings of the run: the job without addresses and secrets, and what
// its pieces report.
nlohmann::json job_hparams(const ProcessServices& process) {
  nlohmann::json hparams = resolved_keys(process.job());
  hparams.erase("node");
  const auto add = [&hparams](const char* key, nlohmann::json values) {
    if (!values.empty()) hparams[key] = std::move(values);
  };
  add("run", process.job().trainer.run.hparams);
  add("model", process.prepared.model->hparams());
  const PreparedJob& prepared = process.prepared;
  add("task", call_user("the task's hparams", ErrorInside::bug_is_named, [&] {
        return process.job().inference
                   ? make_inference_task(prepared.registry, process.job(), 0, prepared.source)->hparams()
                   : make_task(prepared.registry, process.job())->hparams();
      }));
  return hparams;
}

std::function<void()> signal_of(World& world, int signal) {
  return [&world, signal] { tell_signal(world, {Role::node, 0}, signal, false); };
}

// Returns the TLS of the job's nodes for a page that can be reached from other hosts.
std::optional<net::Tls> tls_of_page(const JobConfig& job) {
  if (!job.node.tls || is_loopback(status_address(job).host)) return std::nullopt;
  return net::Tls(
      {.ca = job.node.tls->ca, .certificate = job.node.tls->certificate, .key = job.node.tls->key});
}

std::unique_ptr<TrackerRun> live_page_of(ProcessServices& process, const std::shared_ptr<AwakeRanks>& ranks) {
  const JobConfig& job = process.job();
  const std::optional<net::Tls> tls = tls_of_page(job);
  return live::open_live_page({.address = status_address(job),
                               .run_dir = output_dir(job),
                               .run = job.trainer.run.name,
                               .clock = process.world.clock,
                               .token = process.job_token,
                               .tls = tls ? tls->context() : nullptr,
                               .is_asleep = [ranks] { return ranks->all_sleep(); },
                               .write_trace = signal_of(process.world, SIGUSR2),
                               .sleep = signal_of(process.world, SIGTSTP),
                               .wake = signal_of(process.world, SIGCONT)});
}

// Measures a product of matrices on the cores of all ranks here, before any of them computes. Returns one
// rank's share.
double measured_peak(const ProcessServices& process, std::size_t ranks_here) {
  const auto dtype_of = [](const auto& provider) {
    if constexpr (requires { provider.dtype; }) return provider.dtype;
    return Dtype::float32;
  };
  const Dtype dtype = std::visit(dtype_of, process.job().model_provider);
  const int threads = static_cast<int>(ranks_here) * process.threads_per_rank;
  const double rate = kernels::matmul_rate(scalar_type_of(dtype), threads);
  log::info("measured peak of this node: {:.1f} GFLOP/s, products of {} matrices with {}", 1e-9 * rate,
            name_of(dtype), counted(static_cast<std::uint64_t>(threads), "thread"));
  return rate / static_cast<double>(ranks_here);
}

// Of all ranks. None for a job that does not log FLOPs.
std::optional<PeakFlops> peak_flops(const ProcessServices& process, std::size_t ranks_here) {
  const LoggingConfig& logging = process.job().trainer.logging;
  if (!logs_flops(process.job(), process.loaded.model.get())) return std::nullopt;
  return PeakFlops{.peak = (logging.peak_flops ? *logging.peak_flops : measured_peak(process, ranks_here)) *
                           process.job().mesh.world_size(),
                   .is_measured = logging.measure_peak};
}

}  // namespace

CastMember tracker_member(ProcessServices& process, const EpochServices& epoch) {
  const Membership& membership = epoch.membership();
  const std::size_t ranks_here = epoch.plan().ranks_of_node(0).size();
  TrackerOptions options;
  options.open_runs = [&process, step = membership.resume_step, ranks = epoch.awake_ranks()] {
    auto runs = open_tracker_runs(process.job(), process.prepared.registry, step, job_hparams(process),
                                  process.world.clock, *process.disk_watch);
    if (process.job().node.status) runs.push_back(live_page_of(process, ranks));
    return runs;
  };
  options.resumed_step = membership.resume_step;
  options.says_what_is_shown = process.job().trainer.logging.max_pending_steps.has_value();
  options.actor_names = actor_names(process.job());
  if (const auto* task = std::get_if<config::Named>(&process.job().task)) options.task = task->name;
  options.flops = peak_flops(process, ranks_here);
  options.memory_bytes = process_bytes;
  options.samples_per_epoch = [&process] { return process.prepared.source->num_samples(); };
  if (ProgressDisplay* progress = process.progress) {
    options.show = [progress](const ProgressState& state) { progress->update(state); };
    options.hide = [progress] { progress->finish(); };
  }
  return {{Role::tracker, 0}, Threading::own_thread, factory_of<Tracker>(std::move(options))};
}

}  // namespace d9d
