#include "actors/node.hpp"

#include <algorithm>
#include <iterator>

#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

constexpr int kFirstNode = 0;
constexpr std::chrono::milliseconds kDialAgain{200};
enum ExitCode { exit_done = 0, exit_failed = 1, exit_bad_input = 2 };

}  // namespace

Node::Node(World& world, NodeOptions options) : Actor(world), options_(std::move(options)) {}

void Node::behavior(Handlers& handlers) {
  handlers.on_any_epoch(this, &Node::welcome);
  handlers.on_any_epoch(this, &Node::refused);
  handlers.on_any_epoch(this, &Node::dialed);
  handlers.on_any_epoch(this, &Node::peer_down);
  handlers.on_any_epoch(this, &Node::failed);
  handlers.on_any_epoch(this, &Node::stop_node);
  handlers.on_any_epoch(this, &Node::tick);
  handlers.on(this, &Node::ready);
  handlers.on(this, &Node::start_training);
  handlers.on(this, &Node::rank_finished);
}

void Node::started() {
  started_ns_ = world().clock.now_ns();
  // Before the plan is known, the only others to talk to are those of node 0.
  world().book.set_node_of([](ActorId) { return kFirstNode; });
  if (options_.opens_port && !open_port()) return;
  if (options_.first) {
    spawn(options_.coordinator.id, options_.coordinator.threading, options_.coordinator.factory);
    children_.push_back(options_.coordinator.id);
    join();
  } else {
    log::info("joining the job at {}:{}", options_.join_host, options_.join_port);
    dial_first_node();
  }
}

bool Node::open_port() {
  try {
    port_ = host().publish(options_.listen_host, options_.listen_port);
  } catch (const Error& error) {
    log::error("{}", error.what());
    end(exit_failed, error.what());
    return false;
  }
  if (options_.first) log::info("listening on {}:{}", options_.listen_host, port_);
  return true;
}

void Node::dial_first_node() {
  dial(kFirstNode, options_.join_host, options_.join_port);
}

void Node::dial(int node, const std::string& address, std::uint16_t port) {
  peers_[node] = {address, port};
  host().dial(address, port, node);
}

void Node::dialed(wire::Dialed::Reader message) {
  const auto node = static_cast<int>(message.getNodeIndex());
  if (ended_) return;
  if (message.getOk()) {
    world().book.enter_node(node, attached());
    if (node == kFirstNode) host().watch(attached(), kFirstNode);
    if (!joined_) return join();
    if (--dials_pending_ == 0) spawn_cast();
    return;
  }
  const std::string reason = message.getReason();
  const double waited = 1e-9 * static_cast<double>(world().clock.now_ns() - started_ns_);
  if (joined_ || waited > std::chrono::duration<double>(options_.join_timeout).count()) {
    end(exit_failed,
        fmt::format("cannot reach node {} at {}:{} after {:.1f} s: {}. Is d9d-node running there, with "
                    "node.listen on an address this host can reach and the same kind of node.tls?",
                    node, peers_[node].first, peers_[node].second, waited, reason));
    return;
  }
  tell_self_after<wire::Tick>(kDialAgain, [](wire::Tick::Builder) {});
}

void Node::tick(wire::Tick::Reader /*message*/) {
  if (!joined_ && !ended_) dial_first_node();
}

void Node::join() {
  joined_ = true;
  tell<wire::Join>(
      {Role::coordinator, 0},
      [&](wire::Join::Builder join) {
        join.setRanks(options_.ranks);
        join.setNodeIndex(options_.node_index);
        join.setHost(options_.host);
        join.setPort(port_);
        join.setBuild(options_.build);
        join.setJobHash(options_.job_hash);
        join.setToken(options_.token);
        join.setIncarnation(options_.incarnation);
      },
      host().mailbox());
}

void Node::refused(wire::Refused::Reader message) {
  end(exit_failed, fmt::format("node 0 refused this node: {}", std::string(message.getReason())));
}

void Node::welcome(wire::Welcome::Reader message) {
  if (formed_) return;
  formed_ = true;
  membership_ = {.epoch = message.getEpoch(),
                 .node = static_cast<int>(message.getNodeIndex()),
                 .store_host = message.getStoreHost(),
                 .store_port = message.getStorePort(),
                 .resume_from = message.getResumeFrom(),
                 .resume_step = message.getResumeStep(),
                 .resume_state = message.getResumeState(),
                 .resume_sample = message.getResumeSample(),
                 .tag = message.getTag()};
  for (const auto member : message.getNodes())
    membership_.ranks_per_node.push_back(static_cast<int>(member.getRanks()));
  world().epoch = membership_.epoch;
  if (world().recorder != nullptr) world().recorder->set_node(membership_.node);
  answer_to({Role::node, static_cast<std::uint64_t>(membership_.node)});
  // Node 0 knows everyone from their Join; the others know node 0 and call the rest.
  if (membership_.node != kFirstNode) {
    for (int node = 1; node < static_cast<int>(message.getNodes().size()); ++node) {
      if (node == membership_.node) continue;
      ++dials_pending_;
      const auto member = message.getNodes()[static_cast<unsigned>(node)];
      dial(node, member.getHost(), member.getPort());
    }
  }
  if (dials_pending_ == 0) spawn_cast();
}

void Node::spawn_cast() {
  std::vector<CastMember> cast;
  try {
    cast = options_.cast(membership_);
    world().book.set_node_of(options_.node_of());
  } catch (const Error& error) {
    return tell<wire::Failed>({Role::coordinator, 0}, [&](wire::Failed::Builder failed) {
      failed.setKind(static_cast<wire::Failed::Kind>(error.kind()));
      failed.setText(error.what());
      failed.setActor(to_string(self()));
      failed.setRank(-1);
      failed.setMessage("Welcome");
    });
  }
  // Listeners first: whoever subscribes when it starts shall hear everything.
  const auto rest = std::stable_partition(cast.begin(), cast.end(),
                                          [](const CastMember& member) { return member.goes_first; });
  waiting_cast_.assign(std::make_move_iterator(rest), std::make_move_iterator(cast.end()));
  cast.erase(rest, cast.end());
  enter_stage(std::move(cast));
  enter_rest_when_ready();
}

void Node::enter_stage(std::vector<CastMember> members) {
  for (const CastMember& member : members) {
    children_.push_back(member.id);
    if (member.says_ready) not_ready_.insert(member.id);
  }
  for (CastMember& member : members) spawn(member.id, member.threading, std::move(member.factory));
}

void Node::enter_rest_when_ready() {
  if (!not_ready_.empty() || waiting_cast_.empty()) return;
  if (membership_.node == kFirstNode) publish("train.configuration.start");
  enter_stage(std::exchange(waiting_cast_, {}));
}

// The events of a job's configuration, told for rank 0's actors: what they stand for is there now.
void Node::publish_configured(ActorId ready) {
  if (ready.index != 0) return;
  if (ready.role == Role::loader) publish("train.configuration.data_stream");
  if (ready.role == Role::trainer) publish("train.configuration.lr_scheduler");
  if (ready.role != Role::stage) return;
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
  });
}

void Node::failed(wire::Failed::Reader message) {
  if (sender().role == Role::coordinator) {
    const auto reason = fmt::format("the coordinator failed: {}", std::string(message.getText()));
    if (options_.first) log::error("{}", reason);
    return end(exit_failed, reason);
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
      fmt::format("node 0 is gone ({}); the job is over here", std::string(message.getReason())));
}

void Node::stop_node(wire::StopNode::Reader message) {
  if (!message.getFailed()) return end(exit_done, message.getReason());
  end(message.getInputError() ? exit_bad_input : exit_failed, message.getReason());
}

void Node::end(int exit_code, const std::string& reason) {
  if (std::exchange(ended_, true)) return;
  if (exit_code != exit_done) {
    // Node 0 has reported the cause already.
    if (!options_.first) log::error("this node stops: {}", reason);
    options_.abort_collectives(reason);
  }
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    tell<wire::Stop>(*child, [&](wire::Stop::Builder stop) { stop.setReason(reason); });
  }
  options_.on_end(exit_code);
  finish();
}

}  // namespace d9d
