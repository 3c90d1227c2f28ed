#include <algorithm>
#include <csignal>
#include <iterator>

#include "actors/core/failure_kind.hpp"
#include "actors/node.hpp"
#include "actors/notes/failure_text.hpp"
#include "messages/event.capnp.h"
#include "messages/trace.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/host/signal_name.hpp"
#include "runtime/base/log.hpp"

// The Node after the job has formed: it spawns its cast, passes messages on, reports
// failures, handles signals, ends.
namespace d9d {
namespace {

constexpr std::chrono::seconds leave_unformed_after{1};  // time for the Coordinator to stop the others
constexpr std::chrono::seconds peer_patience{5};  // time for it to report a lost process, or to end the job

}  // namespace

void Node::spawn_cast() {
  state_.become(NodeState::spawning_listeners);
  ++deadline_;
  tell_self_after<wire::Tick>(options_.init_timeout,
                              [](wire::Tick::Builder tick) { tick.setKind(init_deadline); });
  std::vector<CastMember> cast;
  try {
    cast = options_.cast(membership_);
    world().book.set_node_of(options_.node_of());
  } catch (...) {
    const Caught caught = describe_current_exception();
    return tell_failed(caught.kind, caught.what);
  }
  // Listeners first: an actor that subscribes when it starts must hear every event.
  const auto rest = std::stable_partition(cast.begin(), cast.end(),
                                          [](const CastMember& member) { return member.goes_first; });
  waiting_cast_.assign(std::make_move_iterator(rest), std::make_move_iterator(cast.end()));
  cast.erase(rest, cast.end());
  spawn_all(std::move(cast));
  if (not_ready_.empty()) spawn_rest();
}

void Node::spawn_all(std::vector<CastMember> members) {
  for (const CastMember& member : members) {
    children_.push_back(member.id);
    if (member.says_ready) not_ready_.insert(member.id);
  }
  for (CastMember& member : members) spawn(member.id, member.threading, std::move(member.factory));
}

void Node::spawn_rest() {
  state_.become(NodeState::spawning_rest);
  if (membership_.node == first_node) publish("configuration.start");
  spawn_all(std::exchange(waiting_cast_, {}));
}

// An actor that blocks in users' code would otherwise keep the job from beginning for ever.
void Node::give_up_on_cast() {
  std::string waits_for;
  for (const ActorId actor : not_ready_) {
    waits_for += (waits_for.empty() ? "" : ", ") + world().activities.doing_of(actor, world().clock.now_ns());
  }
  tell_failed(
      ErrorKind::environment,
      fmt::format("node {} is not ready after {} s (trainer.timeout.init_timeout); it waits for {}. "
                  "Raise the deadline if the start is really that slow",
                  membership_.node, std::chrono::duration<double>(options_.init_timeout).count(), waits_for));
}

// Publishes the configuration events of an actor that is ready, because the things that
// they announce exist now.
void Node::publish_configured(ActorId ready) {
  const int rank = rank_of(ready);
  const bool trains = options_.events == "train";
  if (ready.role == Role::loader) publish("configuration.data_stream", rank);
  if (ready.role == Role::trainer && trains) publish("configuration.lr_scheduler", rank);
  if (ready.role != Role::rank_executor) return;
  publish("configuration.model_stages", rank);
  if (trains) publish("configuration.optimizer", rank);
}

void Node::publish(const char* event, int rank) {
  tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder publish) {
    publish.setName(options_.events + "." + event);
    publish.setContext("{}");
    publish.setRank(static_cast<std::uint32_t>(rank));
  });
}

void Node::ready(wire::Ready::Reader message) {
  publish_configured(sender());
  not_ready_.erase(sender());
  entries_ += message.getEntries();
  log::debug("{} is ready after {:.2f} s; {} to go", to_string(sender()), message.getSeconds(),
             not_ready_.size());
  if (!not_ready_.empty()) return;
  if (state_ == NodeState::spawning_listeners) return spawn_rest();
  state_.become(NodeState::ready);
  tell<wire::NodeReady>({Role::coordinator, 0}, [&](wire::NodeReady::Builder ready) {
    ready.setNodeIndex(static_cast<std::uint32_t>(membership_.node));
    ready.setEntries(entries_);
  });
}

void Node::start_training(wire::StartTraining::Reader message) {
  if (state_ == NodeState::ended) return;
  state_.become(NodeState::training);
  if (options_.on_training) options_.on_training();
  for (const ActorId child : children_) {
    if (child.role != Role::trainer && child.role != Role::trace_collector) continue;
    tell<wire::StartTraining>(
        child, [&](wire::StartTraining::Builder start) { start.setFirstStep(message.getFirstStep()); });
  }
}

void Node::failed(wire::Failed::Reader message) {
  if (sender().role == Role::event_bus) stops_own_actors_ = true;
  if (sender().role == Role::coordinator) {
    const bool bad_input = message.getKind() == wire::Failed::Kind::INPUT && state_ < NodeState::training;
    return stop_here(bad_input ? exit_bad_input : exit_failed, failure_text(message));
  }
  tell_failed({.kind = message.getKind(),
               .text = message.getText(),
               .actor = message.getActor(),
               .rank = message.getRank(),
               .step = message.getStep(),
               .message = message.getMessage()});
}

// For a failure of this node itself while it prepares the job.
void Node::tell_failed(ErrorKind kind, const std::string& text) {
  tell_failed({.kind = failure_kinds.to_wire(kind),
               .text = text,
               .actor = to_string(ActorId{Role::node, static_cast<std::uint64_t>(membership_.node)}),
               .message = "Welcome"});
}

void Node::tell_failed(const Failure& failure) {
  tell<wire::Failed>({Role::coordinator, 0}, [&](wire::Failed::Builder failed) {
    failed.setKind(failure.kind);
    failed.setText(failure.text);
    failed.setActor(failure.actor);
    failed.setRank(failure.rank);
    failed.setStep(failure.step);
    failed.setMessage(failure.message);
  });
}

void Node::peer_down(wire::PeerDown::Reader message) {
  const auto node = static_cast<int>(message.getNodeIndex());
  const std::string reason = message.getReason();
  if (node == first_node)
    return end(exit_failed, fmt::format("node 0 is gone: it {}. The job is over here", reason), false);
  // The Coordinator reports a process that is gone, and the end of a job is no failure. What is left is a connection
  // that ended alone: what its two nodes tell each other would be lost without a word.
  if (!lost_peer_.empty()) return;
  const HostPort& at = membership_.addresses[static_cast<std::size_t>(node)];
  lost_peer_ =
      fmt::format("node {} has lost its connection with node {} at {}, which {}; node 0 still has both",
                  membership_.node, node, host_port_text(at.host, at.port), reason);
  tell_self_after<wire::Tick>(peer_patience,
                              [](wire::Tick::Builder tick) { tick.setKind(still_without_peer); });
}

void Node::stop_node(wire::StopNode::Reader message) {
  const int code = static_cast<int>(message.getExitCode());
  if (code != 0) return end(code, message.getReason(), !message.getFailed());
  if (!message.getFailed()) return end(exit_done, message.getReason(), true);
  end(message.getInputError() ? exit_bad_input : exit_failed, message.getReason(), false);
}

// Ends this process for a reason that the Coordinator has not reported.
void Node::stop_here(int exit_code, const std::string& reason) {
  if (options_.first) log::error("{}", reason);
  end(exit_code, reason);
}

void Node::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  if (state_ == NodeState::ended) return;
  const bool training = state_ == NodeState::training;
  const bool formed = state_ >= NodeState::meeting;
  if (signal == SIGUSR2) return write_trace();
  if (signal == SIGUSR1) {
    if (!training) return log::warn("SIGUSR1: training has not begun, there is nothing to save");
    log::info("SIGUSR1: a checkpoint after this step");
  }
  const bool wish = signal == SIGUSR1 || signal == SIGTSTP || signal == SIGCONT;
  for (const ActorId child : children_) {
    if (child.role == Role::trainer) pass_signal_to(child, message);
  }
  if (wish) return;
  stop_signal_ = signal;
  if (training && !message.getNow()) {
    log::info("{}: stopping after this step; a second one leaves at once", signal_name(signal));
  }
  if (formed || options_.first) pass_signal_to({Role::coordinator, 0}, message);
  if (!options_.first && (!formed || message.getNow())) {
    return end(exit_of_signal + signal, signal_name(signal), false);
  }
  // The Coordinator may be busy with checkpoints and not answer, so a timer ends this node.
  if (!formed) {
    tell_self_after<wire::Tick>(leave_unformed_after,
                                [](wire::Tick::Builder tick) { tick.setKind(leave_unformed); });
  }
}

// Writes a trace of the steps that the rings of all nodes still hold.
void Node::write_trace() {
  if (state_ != NodeState::training)
    return log::warn("SIGUSR2: training has not begun, there is no trace to write");
  if (world().recorder == nullptr) {
    return log::warn("SIGUSR2: node.trace is false, so nothing was recorded; set it to true");
  }
  const std::string label = fmt::format("asked_{}_{}", membership_.node, world().clock.wall_ns() / 1'000'000);
  log::info("SIGUSR2: writing a trace of the last steps, {}", label);
  const std::size_t nodes = membership_.ranks_per_node.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    tell<wire::FlushTrace>({Role::trace_collector, node}, [&](wire::FlushTrace::Builder flush) {
      flush.setLabel(label);
      flush.setNodes(static_cast<std::uint32_t>(nodes));
      flush.setFromStep(-1);
    });
  }
}

void Node::pass_signal_to(ActorId whom, wire::Signalled::Reader message) {
  tell<wire::Signalled>(whom, [&](wire::Signalled::Builder signalled) {
    signalled.setSignal(message.getSignal());
    signalled.setNow(message.getNow());
    signalled.setNodeIndex(static_cast<std::uint32_t>(membership_.node));
  });
}

void Node::end(int exit_code, const std::string& reason, bool orderly) {
  if (state_ == NodeState::ended) return;
  state_.become(NodeState::ended);
  world().ending = true;
  if (exit_code != exit_done && orderly && !options_.first) log::info("this node stops: {}", reason);
  if (!orderly) {
    // Node 0 has reported the cause already.
    const log::Place nowhere("");
    if (!options_.first) log::error("{}", reason);
    options_.abort_collectives(reason);
  }
  // The actors that were spawned first listen to the others, so they stop last.
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    if (child->role == Role::user && !stops_own_actors_) continue;  // the EventBus stops it, after its events
    tell<wire::Stop>(*child, [&](wire::Stop::Builder stop) { stop.setReason(reason); });
  }
  options_.on_end(exit_code);
  finish();
}

}  // namespace d9d
