#include "actors/coordinator.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

enum TickKind : std::uint32_t {
  join_deadline = 1,
  trace_deadline = 2,
  cause_deadline = 3,
  leave_deadline = 4
};

constexpr std::uint32_t kFirstEpoch = 1;
constexpr std::chrono::seconds kTraceTimeout{20};
constexpr std::chrono::seconds kCauseTimeout{1};  // between a broken connection and the news of a gone node
constexpr std::chrono::seconds kLeaveTimeout{5};

}  // namespace

Coordinator::Coordinator(World& world, CoordinatorOptions options)
    : Actor(world), options_(std::move(options)) {}

void Coordinator::behavior(Handlers& handlers) {
  handlers.on_any_epoch(this, &Coordinator::join);
  handlers.on_any_epoch(this, &Coordinator::peer_down);
  handlers.on_any_epoch(this, &Coordinator::failed);
  handlers.on_any_epoch(this, &Coordinator::tick);
  handlers.on_any_epoch(this, &Coordinator::node_ready);
  handlers.on(this, &Coordinator::rank_finished);
  handlers.on(this, &Coordinator::shard_written);
  handlers.on(this, &Coordinator::checkpoint_state);
  handlers.on(this, &Coordinator::tracker_state);
  handlers.on(this, &Coordinator::model_exported);
  handlers.on(this, &Coordinator::trace_written);
}

void Coordinator::started() {
  // Decided once, before anyone joins, and told to all: half a job resuming and half starting afresh cannot
  // happen.
  resume_ = options_.find_resume_point();
  tell_self_after<wire::Tick>(options_.join_timeout,
                              [](wire::Tick::Builder tick) { tick.setKind(join_deadline); });
}

int Coordinator::ranks_joined() const {
  int ranks = 0;
  for (const Member& member : members_) ranks += member.ranks;
  return ranks;
}

std::string Coordinator::reason_to_refuse(wire::Join::Reader message) const {
  const int left = options_.world_size - ranks_joined();
  const std::int64_t offered = message.getRanks();
  if (message.getToken() != options_.token) return "the job token (node.job_token) differs";
  if (message.getBuild() != options_.build) {
    return fmt::format(
        "it runs another build of d9d: {} here, {} there. Install the same version on every host",
        options_.build, std::string(message.getBuild()));
  }
  if (message.getJobHash() != options_.job_hash) {
    return fmt::format(
        "its job file differs from node 0's (job hash {} here, {} there): all sections but `node` and "
        "`output_dir` must be equal on every host",
        options_.job_hash, std::string(message.getJobHash()));
  }
  if (formed_ || left == 0) {
    return fmt::format(
        "the mesh needs {} ranks and all of them are taken; set node.ranks (or --ranks) on each host so "
        "that they add up",
        options_.world_size);
  }
  if (offered > left) {
    return fmt::format("it offers {} ranks but the mesh of {} has only {} left; set node.ranks (or --ranks)",
                       offered, options_.world_size, left);
  }
  return {};
}

void Coordinator::join(wire::Join::Reader message) {
  const MailboxPtr mailbox = attached();
  D9D_CHECK(mailbox != nullptr, "a node joined without its mailbox");
  const bool again = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.incarnation == message.getIncarnation();
  });
  if (again) return;
  if (const std::string reason = reason_to_refuse(message); !reason.empty()) {
    log::warn("refused node at {}: {}", std::string(message.getHost()), reason);
    tell_via<wire::Refused>(mailbox, sender(),
                            [&](wire::Refused::Builder refused) { refused.setReason(reason); });
    return;
  }
  const int left = options_.world_size - ranks_joined();
  const int ranks = message.getRanks() == 0 ? left : static_cast<int>(message.getRanks());
  members_.push_back({mailbox, sender(), message.getHost(), message.getPort(), ranks, message.getNodeIndex(),
                      message.getIncarnation()});
  watch_members();
  if (ranks_joined() == options_.world_size) {
    form();
  } else {
    log::info("waiting for nodes: {} of {} ranks are here", ranks_joined(), options_.world_size);
  }
}

// Node 0 is where the coordinator lives. Indices change while nodes come and go before the job forms.
void Coordinator::watch_members() {
  for (std::size_t node = 1; node < members_.size(); ++node) {
    host().watch(members_[node].mailbox, static_cast<int>(node));
  }
}

void Coordinator::form() {
  formed_ = true;
  // Node 0 is where the coordinator lives and joined first; the others in the order of their wishes, then of
  // arrival.
  std::stable_sort(members_.begin() + 1, members_.end(), [](const Member& a, const Member& b) {
    return (a.wish < 0 ? INT32_MAX : a.wish) < (b.wish < 0 ? INT32_MAX : b.wish);
  });
  watch_members();
  std::pair<std::string, std::uint16_t> store;
  if (members_.size() > 1) store = options_.open_store();
  for (std::size_t node = 0; node < members_.size(); ++node) {
    world().book.enter_node(static_cast<int>(node), members_[node].mailbox);
    welcome(node, store);
  }
}

void Coordinator::welcome(std::size_t node, const std::pair<std::string, std::uint16_t>& store) {
  tell_via<wire::Welcome>(members_[node].mailbox, members_[node].id, [&](wire::Welcome::Builder welcome) {
    welcome.setEpoch(kFirstEpoch);
    welcome.setNodeIndex(static_cast<std::uint32_t>(node));
    auto list = welcome.initNodes(static_cast<unsigned>(members_.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setHost(members_[i].host);
      list[i].setPort(members_[i].port);
      list[i].setRanks(static_cast<std::uint32_t>(members_[i].ranks));
    }
    welcome.setStoreHost(store.first);
    welcome.setStorePort(store.second);
    welcome.setResumeFrom(resume_.directory);
    welcome.setResumeStep(resume_.step);
    welcome.setResumeState(resume_.state);
    welcome.setResumeSample(resume_.next_sample);
    welcome.setTag(options_.tag);
  });
}

void Coordinator::node_ready(wire::NodeReady::Reader message) {
  if (!nodes_ready_.insert(static_cast<int>(message.getNodeIndex())).second) return;
  entries_taken_ += message.getEntries();
  if (nodes_ready_.size() < members_.size()) return;
  if (entries_taken_ != resume_.entries) {
    return end_job(
        false,
        fmt::format("{} holds {} tensors but the job's model and optimizer take {} of them: it was "
                    "written by another model. Choose another run name, or remove the checkpoint",
                    resume_.directory, resume_.entries, entries_taken_),
        true);
  }
  for (std::size_t node = 0; node < members_.size(); ++node) {
    tell<wire::StartTraining>({Role::node, node}, [&](wire::StartTraining::Builder start) {
      start.setFirstStep(resume_.step + 1);
    });
  }
}

void Coordinator::rank_finished(wire::RankFinished::Reader message) {
  ranks_finished_.insert(message.getRank());
  if (static_cast<int>(ranks_finished_.size()) == options_.world_size) export_model();
}

void Coordinator::export_model() {
  if (options_.export_to.empty()) return flush_traces();
  const std::string source = last_checkpoint_.empty() ? resume_.directory : last_checkpoint_;
  if (source.empty()) {
    return end_job(false,
                   fmt::format("cannot export to {}: no checkpoint was committed", options_.export_to));
  }
  tell<wire::ExportModel>({Role::checkpoint_writer, 0}, [&](wire::ExportModel::Builder message) {
    message.setCheckpoint(source);
    message.setTarget(options_.export_to);
  });
}

void Coordinator::model_exported(wire::ModelExported::Reader message) {
  const std::string failure = message.getFailure();
  if (!failure.empty()) {
    return end_job(false, fmt::format("export to {} failed: {}", options_.export_to, failure));
  }
  log::info("exported the model to {}", options_.export_to);
  publish("train.exported", 0, nlohmann::json{{"target", options_.export_to}}.dump());
  flush_traces();
}

void Coordinator::flush_traces() {
  if (!options_.trace) return conclude_job();
  for (std::size_t node = 0; node < members_.size(); ++node) {
    tell<wire::FlushTrace>({Role::trace_collector, node}, [&](wire::FlushTrace::Builder flush) {
      flush.setNodes(static_cast<std::uint32_t>(members_.size()));
      flush.setFromStep(-1);
    });
  }
  tell_self_after<wire::Tick>(kTraceTimeout, [](wire::Tick::Builder tick) { tick.setKind(trace_deadline); });
}

void Coordinator::trace_written(wire::TraceWritten::Reader message) {
  const std::string failure = message.getFailure();
  if (!failure.empty()) log::warn("the trace was not written: {}", failure);
  conclude_job();
}

void Coordinator::tick(wire::Tick::Reader message) {
  if (message.getKind() == trace_deadline) {
    log::warn("not all nodes handed in their spans within {} s; the trace is left out",
              kTraceTimeout.count());
    return conclude_job();
  }
  if (message.getKind() == cause_deadline) return end_job(false, failure_);
  if (message.getKind() == leave_deadline) return leave();
  if (formed_) return;
  end_job(
      false,
      fmt::format("only {} of {} ranks joined within {} s. Start the missing d9d-node processes with --join, "
                  "or raise trainer.timeout.init_timeout",
                  ranks_joined(), options_.world_size,
                  std::chrono::duration<double>(options_.join_timeout).count()));
}

void Coordinator::peer_down(wire::PeerDown::Reader message) {
  const auto node = message.getNodeIndex();
  if (ended_) {
    staying_.erase(node);
    if (staying_.empty()) leave();
    return;
  }
  if (!formed_) {
    log::warn("node at {} is gone again: {}", members_.at(node).host, std::string(message.getReason()));
    members_.erase(members_.begin() + node);
    return watch_members();
  }
  gone_.insert(node);
  end_job(
      false,
      fmt::format("node {} ({}) is gone: {}. The last committed checkpoint is intact; start the job again to "
                  "go on from it",
                  node, members_.at(node).host, std::string(message.getReason())));
}

void Coordinator::failed(wire::Failed::Reader message) {
  const std::string where =
      message.getRank() >= 0 ? fmt::format("{} (rank {})", std::string(message.getActor()), message.getRank())
                             : std::string(message.getActor());
  std::string text = fmt::format("{} failed at step {} while handling {}: {}", where, message.getStep(),
                                 std::string(message.getMessage()), std::string(message.getText()));
  if (message.getKind() == wire::Failed::Kind::ENVIRONMENT && members_.size() > 1) {
    // Often a broken connection, and the first sign of a node that is gone: that is the better report.
    if (ended_ || !failure_.empty()) return;
    failure_ = std::move(text);
    tell_self_after<wire::Tick>(kCauseTimeout,
                                [](wire::Tick::Builder tick) { tick.setKind(cause_deadline); });
    return;
  }
  end_job(false, text, message.getKind() == wire::Failed::Kind::INPUT && nodes_ready_.empty());
}

void Coordinator::shard_written(wire::ShardWritten::Reader message) {
  Save& save = saves_[message.getStep()];
  ++save.shards;
  if (std::string failure = message.getFailure(); !failure.empty()) save.failure = std::move(failure);
  if (message.getReport().size() > 0) save.parts.reports.emplace_back(message.getReport());
  commit_when_complete(message.getStep());
}

void Coordinator::checkpoint_state(wire::CheckpointState::Reader message) {
  const bool first =
      !saves_.contains(message.getStep()) || saves_[message.getStep()].parts.rank_states.empty();
  Save& save = saves_[message.getStep()];
  save.parts.next_sample = message.getNextSample();
  save.parts.rank_states[message.getRank()] = message.getState();
  if (first) {
    tell<wire::SaveTracker>({Role::tracker, 0},
                            [&](wire::SaveTracker::Builder ask) { ask.setStep(message.getStep()); });
  }
  commit_when_complete(message.getStep());
}

void Coordinator::tracker_state(wire::TrackerState::Reader message) {
  Save& save = saves_[message.getStep()];
  save.tracker = true;
  save.parts.tracker_state = message.getState();
  commit_when_complete(message.getStep());
}

void Coordinator::commit_when_complete(std::uint64_t step) {
  Save& save = saves_[step];
  const bool complete = save.shards == options_.world_size && save.tracker &&
                        static_cast<int>(save.parts.rank_states.size()) == options_.world_size;
  if (!complete) return;
  save.parts.step = step;
  if (!save.failure.empty()) return conclude_save(step, {}, save.failure);
  try {
    last_checkpoint_ = options_.commit(save.parts);
    conclude_save(step, last_checkpoint_, {});
  } catch (const Error& error) {
    conclude_save(step, {}, error.what());
  }
}

// By value: the texts may be those of the save that is erased here.
void Coordinator::conclude_save(std::uint64_t step, std::string directory, std::string failure) {
  saves_.erase(step);
  unsaved_ = failure.empty() ? std::string() : fmt::format("step {}: {}", step, failure);
  if (!failure.empty()) {
    log::warn("the checkpoint of step {} was given up, the one before stays the last: {}", step, failure);
    try {
      options_.discard(step);
    } catch (const Error& error) {
      log::warn("what was written of it stays until the next start: {}", error.what());
    }
  }
  publish(failure.empty() ? "train.checkpoint.committed" : "train.checkpoint.failed", step,
          nlohmann::json{{"directory", directory}, {"failure", failure}}.dump());
  for (int rank = 0; rank < options_.world_size; ++rank) {
    tell<wire::CheckpointCommitted>({Role::trainer, static_cast<std::uint64_t>(rank)},
                                    [&](wire::CheckpointCommitted::Builder committed) {
                                      committed.setStep(step);
                                      committed.setDirectory(directory);
                                      committed.setFailure(failure);
                                    });
  }
}

// Done is done only when what was learned is on disk.
void Coordinator::conclude_job() {
  if (unsaved_.empty()) return end_job(true, "done");
  end_job(false, fmt::format("training is over, but its last checkpoint could not be written ({}); {}. Start "
                             "the job again when that is mended: it goes on from there",
                             unsaved_,
                             last_checkpoint_.empty() && resume_.directory.empty()
                                 ? std::string("there is none")
                                 : "the last one is " +
                                       (last_checkpoint_.empty() ? resume_.directory : last_checkpoint_)));
}

void Coordinator::publish(const char* event, std::uint64_t step, const std::string& context) {
  tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder message) {
    message.setName(event);
    message.setStep(step);
    message.setContext(context);
  });
}

void Coordinator::end_job(bool ok, const std::string& reason, bool input_error) {
  if (ended_) return;
  ended_ = true;
  ending_ = {!ok, reason, input_error};
  if (!ok) {
    log::error("the job stops: {}", reason);
    if (formed_) publish("job.failed", 0, nlohmann::json{{"reason", reason}}.dump());
  }
  for (std::uint32_t node = 1; node < members_.size(); ++node) {
    if (gone_.contains(node)) continue;
    staying_.insert(node);
    tell_to_stop(members_[node].mailbox, formed_ ? ActorId{Role::node, node} : members_[node].id);
  }
  if (staying_.empty()) return leave();
  tell_self_after<wire::Tick>(kLeaveTimeout, [](wire::Tick::Builder tick) { tick.setKind(leave_deadline); });
}

// Node 0's process ends last: what is on its way to the others would be lost with it.
void Coordinator::leave() {
  if (std::exchange(left_, true)) return;
  tell<wire::StopNode>(parent(), [&](wire::StopNode::Builder stop) { ending_.write(stop); });
}

void Coordinator::tell_to_stop(const MailboxPtr& mailbox, ActorId node) {
  tell_via<wire::StopNode>(mailbox, node, [&](wire::StopNode::Builder stop) { ending_.write(stop); });
}

void Coordinator::Ending::write(wire::StopNode::Builder stop) const {
  stop.setFailed(failed);
  stop.setReason(reason);
  stop.setInputError(input_error);
}

}  // namespace d9d
