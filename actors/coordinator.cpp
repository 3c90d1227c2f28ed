#include "actors/coordinator.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/failure_text.hpp"
#include "actors/signal_wishes.hpp"
#include "actors/stop_report.hpp"
#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

enum TickKind : std::uint32_t {
  join_deadline = 1,
  trace_deadline = 2,
  cause_deadline = 3,
  leave_deadline = 4,
  tracker_deadline = 5,
  still_waiting = 6,
  export_deadline = 7
};

constexpr std::uint32_t kFirstEpoch = 1;
constexpr std::chrono::seconds kTraceTimeout{20};
constexpr std::chrono::seconds kTrackerTimeout{20};
constexpr std::chrono::seconds kCauseTimeout{1};  // between a broken connection and the news of a gone node
constexpr std::chrono::seconds kLeaveTimeout{5};
constexpr std::chrono::milliseconds kRescueTimeout{
    3000};  // for the spans of a failed job; within kLeaveTimeout
constexpr std::chrono::seconds kSayThatItWaits{30};
constexpr std::chrono::seconds kLeaveNow{1};  // a second signal came

}  // namespace

Coordinator::Coordinator(World& world, CoordinatorOptions options)
    : Actor(world),
      options_(std::move(options)),
      roster_(options_.world_size, {options_.build, options_.job_hash, options_.token, options_.job_keys}),
      saves_(options_.world_size) {}

void Coordinator::behavior(Handlers& handlers) {
  handlers.on_any_epoch(this, &Coordinator::join);
  handlers.on_any_epoch(this, &Coordinator::peer_down);
  handlers.on_any_epoch(this, &Coordinator::failed);
  handlers.on_any_epoch(this, &Coordinator::tick);
  handlers.on_any_epoch(this, &Coordinator::node_ready);
  handlers.on(this, &Coordinator::rank_finished);
  handlers.on(this, &Coordinator::shard_written);
  handlers.on(this, &Coordinator::checkpoint_state);
  handlers.on(this, &Coordinator::tracker_flushed);
  handlers.on(this, &Coordinator::model_exported);
  handlers.on(this, &Coordinator::trace_written);
  handlers.on_any_epoch(this, &Coordinator::signalled);
}

void Coordinator::started() {
  // Decided once, before anyone joins, and told to all: half
  // a job resuming and half starting afresh cannot happen.
  resume_ = options_.find_resume_point();
  last_checkpoint_ = resume_.directory;
  tell_self_after<wire::Tick>(options_.join_timeout,
                              [](wire::Tick::Builder tick) { tick.setKind(join_deadline); });
  remind_later();
}

// A silent node 0 would look as if it trained.
void Coordinator::remind_later() {
  tell_self_after<wire::Tick>(kSayThatItWaits, [](wire::Tick::Builder tick) { tick.setKind(still_waiting); });
}

void Coordinator::join(wire::Join::Reader message) {
  const MailboxPtr mailbox = attached();
  D9D_CHECK(mailbox != nullptr, "a node joined without its mailbox");
  if (roster_.knows(message.getIncarnation())) return;
  if (const std::string reason = roster_.reason_to_refuse(message); !reason.empty()) {
    log::warn("refused node at {}: {}", std::string(message.getHost()), reason);
    roster_.note_refused(message.getHost(), reason);
    tell_via<wire::Refused>(mailbox, sender(),
                            [&](wire::Refused::Builder refused) { refused.setReason(reason); });
    return;
  }
  roster_.add(message, mailbox, sender());
  watch_members();
  if (roster_.full()) return form();
  log::info("waiting for nodes: {}", roster_.missing());
}

// Node 0 is where the coordinator lives. Indices change while nodes come and go before the job forms.
void Coordinator::watch_members() {
  for (std::size_t node = 1; node < roster_.members().size(); ++node) {
    host().watch(roster_.members()[node].mailbox, static_cast<int>(node));
  }
}

void Coordinator::form() {
  roster_.close();
  watch_members();
  for (std::size_t node = 0; node < roster_.members().size(); ++node) {
    world().book.enter_node(static_cast<int>(node), roster_.members()[node].mailbox);
    welcome(node);
  }
}

void Coordinator::welcome(std::size_t node) {
  const std::vector<Member>& members = roster_.members();
  tell_via<wire::Welcome>(members[node].mailbox, members[node].id, [&](wire::Welcome::Builder welcome) {
    welcome.setEpoch(kFirstEpoch);
    welcome.setNodeIndex(static_cast<std::uint32_t>(node));
    auto list = welcome.initNodes(static_cast<unsigned>(members.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setHost(members[i].host);
      list[i].setPort(members[i].port);
      list[i].setRanks(static_cast<std::uint32_t>(members[i].ranks));
    }
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
  if (nodes_ready_.size() < roster_.members().size()) return;
  if (entries_taken_ != resume_.entries) {
    return end_job(
        false,
        fmt::format("{} holds {} tensors but the job's model and optimizer take {} of them: it was "
                    "written by another model. Choose another run name, or remove the checkpoint",
                    resume_.directory, resume_.entries, entries_taken_),
        true);
  }
  training_ = true;
  for (std::size_t node = 0; node < roster_.members().size(); ++node) {
    tell<wire::StartTraining>({Role::node, node}, [&](wire::StartTraining::Builder start) {
      start.setFirstStep(resume_.step + 1);
    });
  }
}

void Coordinator::rank_finished(wire::RankFinished::Reader message) {
  ranks_finished_.insert(message.getRank());
  if (message.getStep() > resume_.step) trained_ = true;
  if (message.getSignal() != 0) {
    stop_signal_ = static_cast<int>(message.getSignal());
    stop_step_ = message.getStep();
  }
  if (static_cast<int>(ranks_finished_.size()) < options_.world_size) return;
  // Metrics are reduced beside training: those of the last steps may still be on their way to the tracker.
  waits_for_tracker_ = true;
  tell<wire::FlushTracker>({Role::tracker, 0},
                           [&](wire::FlushTracker::Builder ask) { ask.setStep(message.getStep()); });
  tell_self_after<wire::Tick>(kTrackerTimeout,
                              [](wire::Tick::Builder tick) { tick.setKind(tracker_deadline); });
}

void Coordinator::export_model() {
  if (options_.export_to.empty()) return flush_traces();
  if (stop_signal_ != 0) {
    log::info("the export to {} is left out", options_.export_to);
    return flush_traces();
  }
  if (last_checkpoint_.empty()) {
    return end_job(false,
                   fmt::format("cannot export to {}: no checkpoint was committed", options_.export_to));
  }
  tell<wire::ExportModel>({Role::checkpoint_writer, 0}, [&](wire::ExportModel::Builder message) {
    message.setCheckpoint(last_checkpoint_);
    message.setTarget(options_.export_to);
  });
  exporting_ = true;
  tell_self_after<wire::Tick>(options_.export_timeout,
                              [](wire::Tick::Builder tick) { tick.setKind(export_deadline); });
}

void Coordinator::model_exported(wire::ModelExported::Reader message) {
  exporting_ = false;
  const std::string failure = message.getFailure();
  if (!failure.empty()) {
    return end_job(false, fmt::format("export to {} failed: {}", options_.export_to, failure));
  }
  log::info("exported the model to {}", options_.export_to);
  publish("train.exported", 0, nlohmann::json{{"target", options_.export_to}}.dump());
  flush_traces();
}

std::string Coordinator::late_export() const {
  return fmt::format(
      "the export to {0} did not end within {1} s (trainer.timeout.export_timeout): the disk is slow or "
      "hangs. The model is in the checkpoint: d9d-node export {2} {0}",
      options_.export_to, std::chrono::duration_cast<std::chrono::seconds>(options_.export_timeout).count(),
      last_checkpoint_);
}

void Coordinator::flush_traces() {
  // A start that found nothing left to train has nothing to show.
  if (!options_.trace || !trained_) return conclude_job();
  asked_traces_ = true;
  for (std::size_t node = 0; node < roster_.members().size(); ++node) {
    tell<wire::FlushTrace>({Role::trace_collector, node}, [&](wire::FlushTrace::Builder flush) {
      flush.setNodes(static_cast<std::uint32_t>(roster_.members().size()));
      flush.setFromStep(-1);
    });
  }
  tell_self_after<wire::Tick>(kTraceTimeout, [](wire::Tick::Builder tick) { tick.setKind(trace_deadline); });
}

// A failed job is where a trace is needed most. Nodes that are
// gone or hang do not answer: node 0 writes what it has by then.
void Coordinator::rescue_traces() {
  if (!options_.trace || !training_ || asked_traces_) return;
  asked_traces_ = awaits_rescue_ = true;
  for (std::uint32_t node = 0; node < roster_.members().size(); ++node) {
    if (gone_.contains(node)) continue;
    tell<wire::FlushTrace>({Role::trace_collector, node}, [&](wire::FlushTrace::Builder flush) {
      flush.setNodes(static_cast<std::uint32_t>(roster_.members().size() - gone_.size()));
      flush.setFromStep(-1);
      flush.setDeadlineMs(static_cast<std::uint32_t>(kRescueTimeout.count()));
    });
  }
}

void Coordinator::trace_written(wire::TraceWritten::Reader message) {
  const std::string failure = message.getFailure();
  if (!failure.empty()) log::warn("the trace was not written: {}", failure);
  if (!ended_) return conclude_job();
  awaits_rescue_ = false;
  if (staying_.empty()) leave();
}

void Coordinator::tick(wire::Tick::Reader message) {
  if (message.getKind() == trace_deadline) {
    if (ended_) return;
    log::warn("not all nodes handed in their spans within {} s; the trace is left out",
              kTraceTimeout.count());
    return conclude_job();
  }
  if (message.getKind() == export_deadline) {
    if (exporting_) end_job(false, late_export());
    return;
  }
  if (message.getKind() == tracker_deadline) {
    if (!std::exchange(waits_for_tracker_, false)) return;
    log::warn("the last metrics did not come within {} s; metrics.jsonl is left without them",
              kTrackerTimeout.count());
    return export_model();
  }
  if (message.getKind() == cause_deadline) return end_job(false, failure_);
  if (message.getKind() == leave_deadline) return leave();
  if (roster_.closed() || ended_) return;
  if (message.getKind() == still_waiting) {
    log::info("still waiting for nodes: {}", roster_.missing());
    return remind_later();
  }
  end_job(false,
          fmt::format("after {} s (node.join_timeout) {}. Start the missing d9d-node processes with "
                      "--join HOST:PORT of this node, or raise node.join_timeout on all nodes",
                      std::chrono::duration<double>(options_.join_timeout).count(), roster_.missing()));
}

void Coordinator::peer_down(wire::PeerDown::Reader message) {
  const auto node = message.getNodeIndex();
  if (ended_) {
    staying_.erase(node);
    if (staying_.empty() && !awaits_rescue_) leave();
    return;
  }
  if (!roster_.closed()) {
    log::warn("node at {} is gone again: it {}", roster_.members().at(node).host,
              std::string(message.getReason()));
    roster_.remove(node);
    return watch_members();
  }
  gone_.insert(node);
  if (stop_signal_ != 0) {
    return end_job(false,
                   fmt::format("{}: node {} left before all was written", signal_name(stop_signal_), node),
                   false, exit_of_signal + stop_signal_);
  }
  end_job(false,
          and_next_start(fmt::format("node {} ({}) is gone: it {}.", node, roster_.members().at(node).host,
                                     std::string(message.getReason()))));
}

void Coordinator::failed(wire::Failed::Reader message) {
  const bool input = message.getKind() == wire::Failed::Kind::INPUT;
  std::string text = input ? failure_text(message) : and_next_start(failure_text(message));
  if (message.getKind() == wire::Failed::Kind::ENVIRONMENT && roster_.members().size() > 1) {
    // Often a broken connection, and the first sign of a node that is gone: that is the better report.
    if (ended_ || !failure_.empty()) return;
    failure_ = std::move(text);
    tell_self_after<wire::Tick>(kCauseTimeout,
                                [](wire::Tick::Builder tick) { tick.setKind(cause_deadline); });
    return;
  }
  end_job(false, text, input && nodes_ready_.empty());
}

// Before training there was nothing to lose.
std::string Coordinator::and_next_start(const std::string& cause) const {
  if (nodes_ready_.size() < roster_.members().size()) return cause;
  return cause + " " + next_start_text(last_checkpoint_);
}

void Coordinator::shard_written(wire::ShardWritten::Reader message) {
  saves_.shard(message.getStep(), message.getReport(), message.getFailure());
  commit_when_complete(message.getStep());
}

void Coordinator::checkpoint_state(wire::CheckpointState::Reader message) {
  const bool first = saves_.rank_state(message.getStep(), static_cast<int>(message.getRank()),
                                       message.getNextSample(), message.getState());
  if (first) {
    tell<wire::FlushTracker>({Role::tracker, 0},
                             [&](wire::FlushTracker::Builder ask) { ask.setStep(message.getStep()); });
  }
  commit_when_complete(message.getStep());
}

void Coordinator::tracker_flushed(wire::TrackerFlushed::Reader message) {
  // No checkpoint is being written any more when all ranks have finished.
  if (std::exchange(waits_for_tracker_, false)) return export_model();
  saves_.tracker(message.getStep());
  commit_when_complete(message.getStep());
}

void Coordinator::commit_when_complete(std::uint64_t step) {
  if (!saves_.complete(step)) return;
  const PendingSaves::Save save = saves_.take(step);
  if (!save.failure.empty()) return conclude_save(step, {}, save.failure);
  try {
    last_checkpoint_ = options_.commit(save.parts);
    conclude_save(step, last_checkpoint_, {});
  } catch (const Error& error) {
    conclude_save(step, {}, error.what());
  }
}

void Coordinator::conclude_save(std::uint64_t step, const std::string& directory,
                                const std::string& failure) {
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
  if (stop_signal_ != 0) {
    return end_job(true, report_of_stop({stop_signal_, stop_step_, last_checkpoint_, unsaved_}), false,
                   exit_of_signal + stop_signal_);
  }
  if (unsaved_.empty()) return end_job(true, "done");
  end_job(false, fmt::format("training is over, but its last checkpoint could not be written ({}); {}. Start "
                             "the job again when that is mended: it goes on from there",
                             unsaved_,
                             last_checkpoint_.empty() ? std::string("there is none")
                                                      : "the last one is " + last_checkpoint_));
}

// Asked for at any node. In training the ranks agree among themselves on the step; this is what follows.
void Coordinator::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  if (stop_signal_ == 0) stop_signal_ = signal;
  if (ended_ || (training_ && !message.getNow())) return;
  end_job(false,
          message.getNow() ? fmt::format("a second {} at node {}; what was not written is lost",
                                         signal_name(signal), message.getNodeIndex())
                           : fmt::format("{} at node {} before training began", signal_name(signal),
                                         message.getNodeIndex()),
          false, exit_of_signal + stop_signal_);
}

void Coordinator::publish(const char* event, std::uint64_t step, const std::string& context) {
  tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder message) {
    message.setName(event);
    message.setStep(step);
    message.setContext(context);
  });
}

void Coordinator::end_job(bool ok, const std::string& reason, bool input_error, int exit_code) {
  if (ended_) return;
  ended_ = true;
  world().ending = true;
  ending_ = {!ok, reason, input_error, exit_code};
  if (ok && exit_code != 0) log::info("{}", reason);
  if (!ok) {
    const log::Place nowhere("");  // the reason says where
    log::error("{}", reason);
    if (roster_.closed()) publish("job.failed", 0, nlohmann::json{{"reason", reason}}.dump());
    if (exit_code == 0) rescue_traces();
  }
  for (std::uint32_t node = 1; node < roster_.members().size(); ++node) {
    if (gone_.contains(node)) continue;
    staying_.insert(node);
    tell_to_stop(roster_.members()[node].mailbox,
                 roster_.closed() ? ActorId{Role::node, node} : roster_.members()[node].id);
  }
  if (staying_.empty() && !awaits_rescue_) return leave();
  tell_self_after<wire::Tick>(!ok && exit_code != 0 ? kLeaveNow : kLeaveTimeout,
                              [](wire::Tick::Builder tick) { tick.setKind(leave_deadline); });
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
  stop.setExitCode(static_cast<std::uint32_t>(exit_code));
}

}  // namespace d9d
