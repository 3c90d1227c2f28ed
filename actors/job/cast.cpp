#include "actors/job/cast.hpp"

#include <nlohmann/json.hpp>

#include "actors/checkpoint_writer.hpp"
#include "actors/event_bus.hpp"
#include "actors/job/rank_cast.hpp"
#include "actors/job/run_folders.hpp"
#include "actors/trace_collector.hpp"
#include "actors/tracker.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/rank/shard_files.hpp"
#include "runtime/rank/torch_seed.hpp"
#include "runtime/state/checkpoint_commit.hpp"
#include "runtime/task/export_checkpoint.hpp"
#include "runtime/task/job_paths.hpp"
#include "runtime/task/model_provider.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/tracker_runs.hpp"

namespace d9d {
namespace {

std::chrono::milliseconds seconds(std::int64_t count) {
  return std::chrono::seconds(count);
}

void make_services_of_epoch(JobServices& services, const Membership& membership) {
  services.plan = std::make_unique<Plan>(services.job().mesh, membership.ranks_per_node);
  seed_torch(static_cast<std::uint64_t>(services.job().trainer.determinism.base_seed),
             services.plan->ranks_of_node(membership.node).front(), membership.resume_step);
  const auto timeout = seconds(services.job().trainer.timeout.init_timeout);
  if (membership.ranks_per_node.size() > 1) {
    SocketTransportOptions options{
        .node = membership.node, .nodes = membership.addresses, .node_of = {}, .job = membership.tag};
    options.node_of = [&plan = *services.plan](int rank) { return plan.placement(rank).node; };
    services.transport = std::make_unique<SocketTransport>(services.gate, std::move(options));
  }
  services.communicators = std::make_unique<CommunicatorFactory>(
      *services.plan, services.hub, services.transport.get(),
      CommunicatorOptions{.timeout = timeout,
                          .check_collectives = services.job().debug.check_collectives,
                          .epoch = membership.epoch});
}

// What trackers show as the run's settings: the job without addresses and secrets, and what its parts tell.
nlohmann::json job_hparams(const JobServices& services) {
  nlohmann::json hparams = resolved_keys(services.job());
  hparams.erase("node");
  const auto add = [&hparams](const char* key, nlohmann::json values) {
    if (!values.empty()) hparams[key] = std::move(values);
  };
  add("run", services.job().trainer.run.hparams);
  add("model", services.model->hparams());
  add("task", services.make_task()->hparams());
  return hparams;
}

CastMember tracker_member(JobServices& services, const Membership& membership) {
  TrackerOptions options;
  options.open_runs = [&services, step = membership.resume_step] {
    return open_tracker_runs(services.job(), step, job_hparams(services), services.world.clock,
                             *services.disk_watch);
  };
  options.resumed_step = membership.resume_step;
  options.samples_per_epoch = [&services] { return services.source->num_samples(); };
  if (ProgressDisplay* progress = services.progress) {
    options.show = [progress](const ProgressState& state) { progress->update(state); };
    options.hide = [progress] { progress->finish(); };
  }
  return {{Role::tracker, 0}, Threading::own_thread, factory_of<Tracker>(std::move(options))};
}

// Users' actors may do anything, also block: each has a thread of its own.
std::vector<CastMember> user_members(const JobServices& services) {
  std::vector<CastMember> members;
  for (const config::Named& named : services.job().actors) {
    members.push_back({{Role::user, members.size()},
                       Threading::own_thread,
                       [make = services.user_actors.find(named.name), options = named.options](World& world) {
                         return make(world, options);
                       },
                       true,
                       true});
  }
  return members;
}

CastMember writer_member(JobServices& services, int node) {
  CheckpointWriterOptions options;
  options.write = [&services](const std::string& directory, const std::string& file, Ticket shard) {
    return write_shard_file(services.disk, services.table, directory, file, shard);
  };
  options.export_model = [&services](const std::string& checkpoint, const std::string& target) {
    export_checkpoint(services.disk, *services.model, checkpoint, target);
  };
  return {{Role::checkpoint_writer, static_cast<std::uint64_t>(node)},
          Threading::own_thread,
          factory_of<CheckpointWriter>(std::move(options))};
}

CastMember tracer_member(JobServices& services, const Membership& membership) {
  TraceCollectorOptions options{.node = membership.node,
                                .world_size = services.plan->world_size(),
                                .job = services.job().trainer.run.name,
                                .directory = traces_dir(services.job()).string()};
  return {{Role::trace_collector, static_cast<std::uint64_t>(membership.node)},
          Threading::own_thread,
          factory_of<TraceCollector>(std::move(options))};
}

}  // namespace

std::string temporary_checkpoint_dir(const JobServices& services, const Membership& membership,
                                     std::uint64_t step) {
  return join_path(checkpoint_dir(services.job()).string(), temporary_name(step, membership.tag));
}

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
        return known ? node_of_rank[static_cast<std::size_t>(rank)] : AddressBook::kUnknown;
      }
    }
  };
}

std::vector<CastMember> make_cast(JobServices& services, const Membership& membership) {
  if (membership.node != 0)
    require_shared_folders(services.disk, services.job(), membership.tag, membership.node);
  make_services_of_epoch(services, membership);
  std::vector<CastMember> cast;
  if (membership.node == 0) {
    cast.push_back({{Role::event_bus, 0},
                    Threading::pool,
                    [](World& w) { return std::make_unique<EventBus>(w); },
                    false,
                    true});
    cast.push_back(tracker_member(services, membership));
    for (CastMember& member : user_members(services)) cast.push_back(std::move(member));
  }
  cast.push_back(writer_member(services, membership.node));
  if (services.job().node.trace) cast.push_back(tracer_member(services, membership));
  for (const int rank : services.plan->ranks_of_node(membership.node)) {
    for (CastMember& member : make_rank_cast(services, membership, rank)) cast.push_back(std::move(member));
  }
  return cast;
}

CastMember make_coordinator(CoordinatorOptions options) {
  return {{Role::coordinator, 0}, Threading::own_thread, factory_of<Coordinator>(std::move(options))};
}

}  // namespace d9d
