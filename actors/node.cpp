#include "actors/node.hpp"

#include "runtime/base/host/signal_name.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

constexpr std::chrono::milliseconds try_again{200};
constexpr std::chrono::seconds politeness{10};  // later than node 0, which then reports the cause

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
  handlers.on(this, &Node::greeting);
  handlers.on(this, &Node::ready);
  handlers.on(this, &Node::start_training);
}

void Node::started() {
  // Until the plan is known, all actors of other processes are on node 0.
  world().book.set_node_of([](ActorId) { return first_node; });
  set_deadline(options_.join_timeout);
  if (options_.first) {
    state_.become(NodeState::opening);
    return take_part();
  }
  log::info("joining the job at {}", text_of(options_.join));
  dial(first_node, options_.join);
}

// Opens the port, then joins.
void Node::take_part() {
  if (options_.opens_port && !open_port()) return;
  if (options_.first) {
    // From here on the Coordinator reports which nodes are missing.
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
  if (options_.on_open) options_.on_open(membership_.bound_host, port_);
  if (is_unprotected(options_.address, membership_.bound_host)) {
    log::warn(
        "node.insecure: nothing protects the connections at {}; {}", bound,
        options_.has_token
            ? "somebody on the network between can read and change messages; only processes with the job "
              "token can join"
            : "anybody who reaches them can read messages and join the job (a job token keeps strangers out: "
              "node.job_token_file)");
  }
  return true;
}

// False while the name to listen on does not resolve; a timer then tries again.
bool Node::know_own_host() {
  try {
    membership_.bound_host = host_to_bind(options_.address, route_);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    if (std::exchange(problem_, error.what()) != error.what()) log::info("{}; asking again", problem_);
  }
  tell_self_after<wire::Tick>(try_again, [](wire::Tick::Builder tick) { tick.setKind(listen_again); });
  return false;
}

void Node::dial(int node, const HostPort& address) {
  dials_.begin(node, address);
  host().dial(address.host, address.port, node);
}

void Node::dialed(wire::Dialed::Reader message) {
  const auto node = static_cast<int>(message.getNodeIndex());
  if (state_ == NodeState::ended || !dials_.open(node)) return;
  if (message.getStranger() && node == first_node)
    return end(exit_failed, fmt::format("node 0 refused this node: {}", std::string(message.getReason())));
  if (!message.getOk()) return dial_failed(node, message.getReason());
  if (node == first_node) {
    connected(node);
    route_ = message.getOwnHost();
    state_.become(NodeState::opening);
    return take_part();
  }
  tell_via<wire::Greeting>(
      attached(), {Role::node, static_cast<std::uint64_t>(node)},
      [&](wire::Greeting::Builder greeting) {
        greeting.setNodeIndex(static_cast<std::uint32_t>(membership_.node));
      },
      host().mailbox());
  connected(node);
  if (dials_.all_answered()) spawn_cast();
}

void Node::greeting(wire::Greeting::Reader message) {
  const auto node = static_cast<int>(message.getNodeIndex());
  if (state_ == NodeState::ended || !dials_.open(node)) return;
  connected(node);
  if (dials_.all_answered()) spawn_cast();
}

void Node::connected(int node) {
  dials_.answered(node);
  world().book.enter_node(node, attached());
  host().watch(attached(), node);
}

void Node::dial_failed(int node, const std::string& reason) {
  if (dials_.failed(node, reason)) {
    log::info("cannot reach node {} at {} yet: {}; trying again", node, text_of(dials_.address(node)),
              reason);
  }
  tell_self_after<wire::Tick>(try_again, [node](wire::Tick::Builder tick) {
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
  if (state_ == NodeState::ended) return;
  const auto node = static_cast<int>(message.getValue());
  if (message.getKind() == leave_unformed)
    return end(exit_of_signal + stop_signal_, "the job had not formed");
  if (message.getKind() == listen_again) return take_part();
  if (message.getKind() == still_without_peer)
    return tell_failed({.kind = wire::Failed::Kind::ENVIRONMENT, .text = lost_peer_});
  if (message.getKind() == dial_again && dials_.open(node)) {
    return host().dial(dials_.address(node).host, dials_.address(node).port, node);
  }
  if (message.getKind() == init_deadline && state_ < NodeState::ready) return give_up_on_cast();
  if (message.getKind() == join_deadline && message.getValue() == deadline_) give_up();
}

void Node::give_up() {
  const double waited = std::chrono::duration<double>(options_.join_timeout).count();
  if (state_ >= NodeState::meeting) {
    return tell_failed(
        ErrorKind::environment,
        fmt::format("node {} has no connection with {} after {} s (node.join_timeout); each node has to "
                    "be reached by those after it under the address that it announces (node.advertise, "
                    "--listen)",
                    membership_.node, dials_.missing(), waited));
  }
  if (state_ == NodeState::joined) {
    return stop_here(exit_failed,
                     fmt::format("node 0 at {} has let this node join, but the job did not start "
                                 "within {} s (node.join_timeout)",
                                 text_of(options_.join), waited));
  }
  if (state_ == NodeState::opening)
    return stop_here(exit_failed, fmt::format("{} after {} s", problem_, waited));
  stop_here(
      exit_failed,
      fmt::format("cannot reach {} after {} s (node.join_timeout). Is d9d-node running there, listening "
                  "on an address and port that this host can reach, with the same kind of node.tls?",
                  dials_.missing(), waited));
}

void Node::join() {
  state_.become(NodeState::joined);
  if (!options_.first) set_deadline(options_.join_timeout + politeness);
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
        join.setIncarnation(options_.incarnation);
        join.setKeys(options_.job_keys);
        join.setCommand(options_.command);
        join.setPlace(options_.place);
        join.setHostNumber(options_.host_number);
        join.setInputs(options_.inputs);
      },
      host().mailbox());
}

void Node::refused(wire::Refused::Reader message) {
  if (state_ >= NodeState::meeting) return;
  end(exit_failed, fmt::format("node 0 refused this node: {}", std::string(message.getReason())), false);
}

void Node::welcome(wire::Welcome::Reader message) {
  if (state_ >= NodeState::meeting) return;
  state_.become(NodeState::meeting);
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
    membership_.host_numbers.push_back(member.getHostNumber());
    membership_.addresses.push_back({member.getHost(), member.getPort()});
  }
  if (membership_.addresses[first_node].host.empty()) membership_.addresses[first_node] = options_.join;
  if (options_.enter_membership) options_.enter_membership(message.getSecret());
  world().epoch = membership_.epoch;
  if (world().recorder != nullptr) world().recorder->set_node(membership_.node);
  answer_to({Role::node, static_cast<std::uint64_t>(membership_.node)});
  meet_peers();
}

// Node 0 knows all nodes from their Join, and they know it. Of two others the later one dials. Both must not: of two
// connections between a pair CAF keeps one, and when both sides dial at once each may close the one that the other
// side keeps.
void Node::meet_peers() {
  if (membership_.node != first_node) {
    set_deadline(options_.join_timeout);
    for (int node = 1; node < static_cast<int>(membership_.addresses.size()); ++node) {
      const HostPort& address = membership_.addresses[static_cast<std::size_t>(node)];
      if (node < membership_.node) dial(node, address);
      if (node > membership_.node) dials_.await(node, address);
    }
  }
  if (dials_.all_answered()) spawn_cast();
}

}  // namespace d9d
