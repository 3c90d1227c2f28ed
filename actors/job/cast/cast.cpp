#include "actors/job/cast/cast.hpp"

#include <map>

#include "actors/checkpoint_writer.hpp"
#include "actors/coordinator.hpp"
#include "actors/event_bus.hpp"
#include "actors/job/cast/rank_cast.hpp"
#include "actors/job/cast/resumed_state.hpp"
#include "actors/job/cast/tracker_cast.hpp"
#include "actors/job/folder/job_export.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "actors/step_actor.hpp"
#include "actors/trace_collector.hpp"
#include "runtime/base/error.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/rank/state/shard_files.hpp"
#include "runtime/rank/torch_seed.hpp"
#include "runtime/task/result/drop_results.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

void load_state(StepActor& follower, const std::string& name, const nlohmann::json& state) {
  call_user(fmt::format("load_state of the actor \"{}\"", name), ErrorInside::is_named, [&] {
    const Calling calling("load_state()");
    follower.load_state(state);
  });
}

// An actor of a user may block, so each of them has a thread of its own.
std::vector<CastMember> user_members(const ProcessServices& process, const ResumedState& resumed) {
  std::vector<CastMember> members;
  std::map<std::string, std::size_t> made;  // actors so far, by name
  for (const config::Named& named : process.job().actors) {
    const auto state = resumed.actor(named.name, made[named.name]++);
    const auto make = [make = process.prepared.user_actors.find(named.name), named, state,
                       vocabulary = process.prepared.vocabulary](World& world) {
      auto actor = make(world, named.options);
      if (auto* const follower = dynamic_cast<StepActor*>(actor.get())) {
        follower->set_vocabulary(vocabulary);
        if (state) load_state(*follower, named.name, *state);
      }
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
