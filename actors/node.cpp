#include "actors/node.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>

#include "actors/core/failure_kind.hpp"
#include "actors/failure_text.hpp"
#include "actors/signal_wishes.hpp"
#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

constexpr int kFirstNode = 0;
constexpr std::chrono::milliseconds kTryAgain{200};
constexpr std::chrono::seconds kPoliteness{10};    // node 0's own deadline comes first
constexpr std::chrono::seconds kLeaveUnformed{1};  // for the Coordinator to tell the others
enum ExitCode { exit_done = 0, exit_failed = 1, exit_bad_input = 2 };
enum TickKind : std::uint32_t { dial_again = 1, listen_again = 2, join_deadline = 3, leave_unformed = 4 };

std::string text_of(const HostPort& address) {
  return host_port_text(address.host, address.port);
}

}  // namespace

Node::Node(World& world, NodeOptions options) : Actor(world), options_(std::move(options)) {}

void Node::behavior(Handlers& handlers) {
  handlers.on_any_epoch(this, &Node::welcome);
  handlers.on_any_epoch(this, &Node::refused);
  handlers.on_any_epoch(this, &Node::dialed);
  handlers.on_any_epoch(this, &Node::peer_down);
  handlers.on_any_epoch(this, &Node::failed);
  handlers.on_any_epoch(this, &Node::stop_node);
  handlers.on_any_epoch(this, &Node::signalled);
  handlers.on_any_epoch(this, &Node::tick);
  handlers.on(this, &Node::ready);
  handlers.on(this, &Node::start_training);
  handlers.on(this, &Node::rank_finished);
}

void Node::started() {
  // Before the plan is known, the only others to talk to are those of node 0.
  world().book.set_node_of([](ActorId) { return kFirstNode; });
  set_deadline(options_.join_timeout);
  if (options_.first) return take_part();
  log::info("joining the job at {}", text_of(options_.join));
  dial(kFirstNode, options_.join);
}

// Opens the port, then joins.
void Node::take_part() {
  if (options_.opens_port && !open_port()) return;
  if (options_.first) {
    // Who is missing from here on is the Coordinator's business.
    ++deadline_;
    spawn(options_.coordinator.id, options_.coordinator.threading, options_.coordinator.factory);
    children_.push_back(options_.coordinator.id);
  }
  join();
}

bool Node::open_port() {
  try {
    if (!know_own_host()) return false;
    port_ = host().publish(membership_.bound_host, port_to_bind(options_.address));
  } catch (const Error& error) {
    stop_here(error.kind() == ErrorKind::input ? exit_bad_input : exit_failed, error.what());
    return false;
  }
  const std::string bound = host_port_text(membership_.bound_host, port_);
  if (options_.first) log::info("listening on {}", bound);
  if (is_unprotected(options_.address, membership_.bound_host)) {
    log::warn(
        "node.insecure: nothing protects the connections at {}; whoever reaches them may read along and "
        "take part",
        bound);
  }
  return true;
}

// False while the name to listen on is not known; then it is asked for again.
bool Node::know_own_host() {
  try {
    membership_.bound_host = host_to_bind(options_.address, route_);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    if (std::exchange(problem_, error.what()) != error.what()) log::info("{}; asking again", problem_);
  }
  tell_self_after<wire::Tick>(kTryAgain, [](wire::Tick::Builder tick) { tick.setKind(listen_again); });
  return false;
}

void Node::dial(int node, const HostPort& address) {
  dials_.begin(node, address);
  host().dial(address.host, address.port, node);
}

void Node::dialed(wire::Dialed::Reader message) {
  const auto node = static_cast<int>(message.getNodeIndex());
  if (ended_ || !dials_.open(node)) return;
  if (!message.getOk()) return dial_failed(node, message.getReason());
  dials_.answered(node);
  world().book.enter_node(node, attached());
  if (node == kFirstNode) {
    host().watch(attached(), kFirstNode);
    route_ = message.getOwnHost();
    return take_part();
  }
  if (dials_.all_answered()) spawn_cast();
}

void Node::dial_failed(int node, const std::string& reason) {
  if (dials_.failed(node, reason)) {
    log::info("cannot reach node {} at {} yet: {}; trying again", node, text_of(dials_.address(node)),
              reason);
  }
  tell_self_after<wire::Tick>(kTryAgain, [node](wire::Tick::Builder tick) {
    tick.setKind(dial_again);
    tick.setValue(static_cast<std::uint64_t>(node));
  });
}

void Node::set_deadline(std::chrono::nanoseconds delay) {
  ++deadline_;
  tell_self_after<wire::Tick>(delay, [this](wire::Tick::Builder tick) {
    tick.setKind(join_deadline);
    tick.setValue(deadline_);
  });
}

void Node::tick(wire::Tick::Reader message) {
  if (ended_) return;
  const auto node = static_cast<int>(message.getValue());
  if (message.getKind() == leave_unformed)
    return end(exit_of_signal + stop_signal_, "the job had not formed");
  if (message.getKind() == listen_again) return take_part();
  if (message.getKind() == dial_again && dials_.open(node)) {
    return host().dial(dials_.address(node).host, dials_.address(node).port, node);
  }
  if (message.getKind() == join_deadline && message.getValue() == deadline_) give_up();
}

void Node::give_up() {
  const double waited = std::chrono::duration<double>(options_.join_timeout).count();
  if (formed_) {
    return tell_failed(
        ErrorKind::environment,
        fmt::format("node {} cannot reach {} after {} s (node.join_timeout); every node has to "
                    "be reached by all others under the address that it announces "
                    "(node.advertise, --listen)",
                    membership_.node, dials_.missing(), waited));
  }
  if (joined_) {
    return stop_here(exit_failed,
                     fmt::format("node 0 at {} has let this node join, but the job did not start "
                                 "within {} s (node.join_timeout)",
                                 text_of(options_.join), waited));
  }
  if (dials_.all_answered()) return stop_here(exit_failed, fmt::format("{} after {} s", problem_, waited));
  stop_here(
      exit_failed,
      fmt::format("cannot reach {} after {} s (node.join_timeout). Is d9d-node running there, listening "
                  "on an address and port that this host can reach, with the same kind of node.tls?",
                  dials_.missing(), waited));
}

void Node::join() {
  joined_ = true;
  if (!options_.first) set_deadline(options_.join_timeout + kPoliteness);
  const HostPort address = announced(options_.address, port_, route_);
  tell<wire::Join>(
      {Role::coordinator, 0},
      [&](wire::Join::Builder join) {
        join.setRanks(options_.ranks);
        join.setNodeIndex(options_.node_index);
        join.setHost(address.host);
        join.setPort(address.port);
        join.setBuild(options_.build);
        join.setJobHash(options_.job_hash);
        join.setToken(options_.token);
        join.setIncarnation(options_.incarnation);
        join.setKeys(options_.job_keys);
      },
      host().mailbox());
}

void Node::refused(wire::Refused::Reader message) {
  end(exit_failed, fmt::format("node 0 refused this node: {}", std::string(message.getReason())), false);
}

void Node::welcome(wire::Welcome::Reader message) {
  if (formed_) return;
  formed_ = true;
  membership_ = {.epoch = message.getEpoch(),
                 .node = static_cast<int>(message.getNodeIndex()),
                 .bound_host = membership_.bound_host,
                 .resume_from = message.getResumeFrom(),
                 .resume_step = message.getResumeStep(),
                 .resume_state = message.getResumeState(),
                 .resume_sample = message.getResumeSample(),
                 .tag = message.getTag()};
  for (const auto member : message.getNodes()) {
    membership_.ranks_per_node.push_back(static_cast<int>(member.getRanks()));
    membership_.addresses.push_back({member.getHost(), member.getPort()});
  }
  if (membership_.addresses[kFirstNode].host.empty()) membership_.addresses[kFirstNode] = options_.join;
  world().epoch = membership_.epoch;
  if (world().recorder != nullptr) world().recorder->set_node(membership_.node);
  answer_to({Role::node, static_cast<std::uint64_t>(membership_.node)});
  meet_peers(message);
}

// Node 0 knows everyone from their Join; the others know node 0 and call the rest.
void Node::meet_peers(wire::Welcome::Reader message) {
  if (membership_.node != kFirstNode) {
    set_deadline(options_.join_timeout);
    for (int node = 1; node < static_cast<int>(message.getNodes().size()); ++node) {
      const auto member = message.getNodes()[static_cast<unsigned>(node)];
      if (node != membership_.node) dial(node, {member.getHost(), member.getPort()});
    }
  }
  if (dials_.all_answered()) spawn_cast();
}

void Node::spawn_cast() {
  ++deadline_;
  std::vector<CastMember> cast;
  try {
    cast = options_.cast(membership_);
    world().book.set_node_of(options_.node_of());
  } catch (...) {
    const Caught caught = describe_current_exception();
    return tell_failed(caught.kind, caught.what);
  }
  // Listeners first: whoever subscribes when it starts shall hear everything.
  const auto rest = std::stable_partition(cast.begin(), cast.end(),
                                          [](const CastMember& member) { return member.goes_first; });
  waiting_cast_.assign(std::make_move_iterator(rest), std::make_move_iterator(cast.end()));
  cast.erase(rest, cast.end());
  spawn_all(std::move(cast));
  enter_rest_when_ready();
}

void Node::spawn_all(std::vector<CastMember> members) {
  for (const CastMember& member : members) {
    children_.push_back(member.id);
    if (member.says_ready) not_ready_.insert(member.id);
  }
  for (CastMember& member : members) spawn(member.id, member.threading, std::move(member.factory));
}

void Node::enter_rest_when_ready() {
  if (!not_ready_.empty() || waiting_cast_.empty()) return;
  if (membership_.node == kFirstNode) publish("train.configuration.start");
  spawn_all(std::exchange(waiting_cast_, {}));
}

// The events of a job's configuration, told for rank 0's actors: what they stand for is there now.
void Node::publish_configured(ActorId ready) {
  if (ready.index != 0) return;
  if (ready.role == Role::loader) publish("train.configuration.data_stream");
  if (ready.role == Role::trainer) publish("train.configuration.lr_scheduler");
  if (ready.role != Role::rank_executor) return;
  publish("train.configuration.model_stages");
  publish("train.configuration.optimizer");
}

void Node::publish(const char* event) {
  tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder publish) {
    publish.setName(event);
    publish.setContext("{}");
  });
}

void Node::ready(wire::Ready::Reader message) {
  publish_configured(sender());
  not_ready_.erase(sender());
  entries_ += message.getEntries();
  log::debug("{} is ready after {:.2f} s; {} to go", to_string(sender()), message.getSeconds(),
             not_ready_.size());
  const bool was_first_half = !waiting_cast_.empty();
  enter_rest_when_ready();
  if (was_first_half || !not_ready_.empty()) return;
  tell<wire::NodeReady>({Role::coordinator, 0}, [&](wire::NodeReady::Builder ready) {
    ready.setNodeIndex(static_cast<std::uint32_t>(membership_.node));
    ready.setEntries(entries_);
  });
}

void Node::start_training(wire::StartTraining::Reader message) {
  training_ = true;
  for (const ActorId child : children_) {
    if (child.role != Role::trainer && child.role != Role::trace_collector) continue;
    tell<wire::StartTraining>(
        child, [&](wire::StartTraining::Builder start) { start.setFirstStep(message.getFirstStep()); });
  }
}

void Node::rank_finished(wire::RankFinished::Reader message) {
  tell<wire::RankFinished>({Role::coordinator, 0}, [&](wire::RankFinished::Builder finished) {
    finished.setRank(message.getRank());
    finished.setStep(message.getStep());
    finished.setSignal(message.getSignal());
  });
}

void Node::tell_failed(ErrorKind kind, const std::string& text) {
  tell<wire::Failed>({Role::coordinator, 0}, [&](wire::Failed::Builder failed) {
    failed.setKind(kFailureKinds.to_wire(kind));
    failed.setText(text);
    failed.setActor(to_string(self()));
    failed.setRank(-1);
    failed.setMessage("Welcome");
  });
}

void Node::failed(wire::Failed::Reader message) {
  if (sender().role == Role::coordinator) {
    const bool bad_input = message.getKind() == wire::Failed::Kind::INPUT && !training_;
    return stop_here(bad_input ? exit_bad_input : exit_failed, failure_text(message));
  }
  tell<wire::Failed>({Role::coordinator, 0}, [&](wire::Failed::Builder failed) {
    failed.setKind(message.getKind());
    failed.setText(message.getText());
    failed.setActor(message.getActor());
    failed.setRank(message.getRank());
    failed.setStep(message.getStep());
    failed.setMessage(message.getMessage());
  });
}

void Node::peer_down(wire::PeerDown::Reader message) {
  end(exit_failed,
      fmt::format("node 0 is gone: it {}. The job is over here", std::string(message.getReason())), false);
}

void Node::stop_node(wire::StopNode::Reader message) {
  const int code = static_cast<int>(message.getExitCode());
  if (code != 0) return end(code, message.getReason(), !message.getFailed());
  if (!message.getFailed()) return end(exit_done, message.getReason(), true);
  end(message.getInputError() ? exit_bad_input : exit_failed, message.getReason(), false);
}

// Where the Coordinator has not reported it.
void Node::stop_here(int exit_code, const std::string& reason) {
  if (options_.first) log::error("{}", reason);
  end(exit_code, reason);
}

void Node::signalled(wire::Signalled::Reader message) {
  const int signal = static_cast<int>(message.getSignal());
  if (ended_) return;
  if (signal == SIGUSR1) {
    if (!training_) return log::warn("SIGUSR1: training has not begun, there is nothing to save");
    log::info("SIGUSR1: a checkpoint after this step");
  }
  for (const ActorId child : children_) {
    if (child.role == Role::trainer) pass_signal_to(child, message);
  }
  if (signal == SIGUSR1) return;
  stop_signal_ = signal;
  if (training_ && !message.getNow()) {
    log::info("{}: stopping after this step; a second one leaves at once", signal_name(signal));
  }
  if (formed_ || options_.first) pass_signal_to({Role::coordinator, 0}, message);
  if (!options_.first && (!formed_ || message.getNow())) {
    return end(exit_of_signal + signal, signal_name(signal), false);
  }
  // The Coordinator may be looking through checkpoints and not answer.
  if (!formed_) {
    tell_self_after<wire::Tick>(kLeaveUnformed,
                                [](wire::Tick::Builder tick) { tick.setKind(leave_unformed); });
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
  if (std::exchange(ended_, true)) return;
  world().ending = true;
  if (exit_code != exit_done && orderly && !options_.first) log::info("this node stops: {}", reason);
  if (!orderly) {
    // Node 0 has reported the cause already.
    const log::Place nowhere("");
    if (!options_.first) log::error("{}", reason);
    options_.abort_collectives(reason);
  }
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    tell<wire::Stop>(*child, [&](wire::Stop::Builder stop) { stop.setReason(reason); });
  }
  options_.on_end(exit_code);
  finish();
}

}  // namespace d9d
