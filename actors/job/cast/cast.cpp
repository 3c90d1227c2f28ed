#include "actors/job/cast/cast.hpp"

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "actors/checkpoint_writer.hpp"
#include "actors/coordinator.hpp"
#include "actors/event_bus.hpp"
#include "actors/job/cast/rank_cast.hpp"
#include "actors/job/cast/resumed_state.hpp"
#include "actors/job/folder/job_export.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "actors/job/process/tell_signal.hpp"
#include "actors/step_actor.hpp"
#include "actors/trace_collector.hpp"
#include "actors/tracker.hpp"
#include "kernels/matmul_rate.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
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
#include "runtime/rank/state/shard_files.hpp"
#include "runtime/rank/torch_seed.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/result/drop_results.hpp"
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
  add("task", process.job().inference
                  ? make_inference_task(prepared.registry, process.job(), 0, prepared.source)->hparams()
                  : make_task(prepared.registry, process.job())->hparams());
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

std::optional<PeakFlops> peak_flops(const ProcessServices& process, std::size_t ranks_here) {
  const LoggingConfig& logging = process.job().trainer.logging;
  if (!logs_flops(process.job(), process.loaded.model.get())) return std::nullopt;
  return PeakFlops{.peak = (logging.peak_flops ? *logging.peak_flops : measured_peak(process, ranks_here)) *
                           process.job().mesh.world_size(),
                   .is_measured = logging.measure_peak};
}

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
  for (const config::Named& actor : process.job().actors) options.actor_names.push_back(actor.name);
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

void load_state(Actor& actor, const std::string& name, const nlohmann::json& state) {
  auto* const follower = dynamic_cast<StepActor*>(&actor);
  if (follower == nullptr) return;
  call_user(fmt::format("load_state of the actor \"{}\"", name), ErrorInside::is_named,
            [&] { follower->load_state(state); });
}

// An actor of a user may block, so each of them has a thread of its own.
std::vector<CastMember> user_members(const ProcessServices& process, const ResumedState& resumed) {
  std::vector<CastMember> members;
  std::map<std::string, std::size_t> made;  // actors so far, by name
  for (const config::Named& named : process.job().actors) {
    const auto state = resumed.actor(named.name, made[named.name]++);
    const auto make = [make = process.prepared.user_actors.find(named.name), named, state](World& world) {
      auto actor = make(world, named.options);
      if (state) load_state(*actor, named.name, *state);
      return actor;
    };
    members.push_back({{Role::user, members.size()}, Threading::own_thread, make, true, true});
  }
  return members;
}

CastMember writer_member(ProcessServices& process, EpochServices& epoch) {
  CheckpointWriterOptions options;
  options.write = [&process, &table = epoch.table()](const std::string& directory, const std::string& file,
                                                     Ticket shard) {
    return write_shard_file(process.disk, table, directory, file, shard);
  };
  const auto ranks = epoch.plan().ranks_of_node(epoch.membership().node).size();
  options.export_share = [&process, ranks](const std::string& checkpoint, const std::string& folder,
                                           int share, int shares) {
    return write_export_share(process, static_cast<int>(ranks), checkpoint, folder, {share, shares});
  };
  return {{Role::checkpoint_writer, static_cast<std::uint64_t>(epoch.membership().node)},
          Threading::own_thread,
          factory_of<CheckpointWriter>(std::move(options))};
}

CastMember tracer_member(const ProcessServices& process, const EpochServices& epoch) {
  const int node = epoch.membership().node;
  TraceCollectorOptions options{.node = node,
                                .world_size = epoch.plan().world_size(),
                                .job = process.job().trainer.run.name,
                                .directory = traces_dir(process.job()).string()};
  return {{Role::trace_collector, static_cast<std::uint64_t>(node)},
          Threading::own_thread,
          factory_of<TraceCollector>(std::move(options))};
}

}  // namespace

AddressBook::NodeOf node_of_plan(const Plan& plan) {
  std::vector<int> node_of_rank;
  for (const RankPlacement& placement : plan.ranks()) node_of_rank.push_back(placement.node);
  return [node_of_rank = std::move(node_of_rank)](ActorId id) {
    switch (id.role) {
      case Role::node:
      case Role::trace_collector:
      case Role::checkpoint_writer:
        return static_cast<int>(id.index);
      case Role::coordinator:
      case Role::event_bus:
      case Role::tracker:
      case Role::user:
        return 0;
      default: {
        const int rank = rank_of(id);
        const bool known = rank >= 0 && rank < static_cast<int>(node_of_rank.size());
        return known ? node_of_rank[static_cast<std::size_t>(rank)] : AddressBook::unknown;
      }
    }
  };
}

std::vector<CastMember> make_cast(ProcessServices& process, EpochServices& epoch) {
  const Membership& membership = epoch.membership();
  if (membership.node != 0)
    require_shared_folders(process.disk, process.job(), membership.tag, membership.node,
                           *process.held_folders);
  remove_sleep_files(process.disk, process.job());
  seed_torch(static_cast<std::uint64_t>(process.job().trainer.determinism.base_seed),
             epoch.plan().ranks_of_node(membership.node).front(), membership.resume_step);
  std::vector<CastMember> cast;
  // Parsed once for all ranks of this process: the text has the states of all ranks of the job.
  const ResumedState resumed(membership.resume_state);
  if (membership.node == 0) {
    if (process.job().inference) drop_results_from(results_dir(process.job()), membership.resume_sample);
    cast.push_back({{Role::event_bus, 0},
                    Threading::pool,
                    [own_actors = process.job().actors.size()](World& w) {
                      return std::make_unique<EventBus>(w, own_actors);
                    },
                    false,
                    true});
    cast.push_back(tracker_member(process, epoch));
    for (CastMember& member : user_members(process, resumed)) cast.push_back(std::move(member));
  }
  cast.push_back(writer_member(process, epoch));
  if (process.job().node.trace) cast.push_back(tracer_member(process, epoch));
  for (const int rank : epoch.plan().ranks_of_node(membership.node)) {
    for (CastMember& member : make_rank_cast(process, epoch, resumed, rank))
      cast.push_back(std::move(member));
  }
  return cast;
}

CastMember make_coordinator(CoordinatorOptions options) {
  return {{Role::coordinator, 0}, Threading::own_thread, factory_of<Coordinator>(std::move(options))};
}

}  // namespace d9d
