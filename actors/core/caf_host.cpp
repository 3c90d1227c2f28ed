#include "actors/core/caf_host.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <string>
#include <system_error>

#include "actors/core/peer_words.hpp"
#include "actors/core/tsan_order.hpp"
#include "messages/cluster.capnp.h"
#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/net/dial.hpp"

namespace d9d {
namespace {

// Signs of life between a watched actor and its watcher, because CAF does not show its own heartbeats.
using AskForSign = caf::atom_constant<caf::atom("sign?")>;
using Sign = caf::atom_constant<caf::atom("sign")>;

caf::timespan setting(caf::actor_system& system, const std::string& key) {
  return caf::get_or(system.config(), key, caf::timespan{std::chrono::seconds(1)});
}

caf::strong_actor_ptr target_of(const MailboxPtr& mailbox) {
  const auto* caf_mailbox = dynamic_cast<const CafMailbox*>(mailbox.get());
  return caf_mailbox ? caf_mailbox->target() : nullptr;
}

MailboxPtr mailbox_for(caf::strong_actor_ptr target) {
  return target ? std::make_shared<CafMailbox>(std::move(target)) : nullptr;
}

// How long a try may take, for each address of a name.
constexpr std::chrono::seconds connect_timeout{5};

struct DialResult {
  MailboxPtr mailbox;
  std::string own_host;
  std::string failure;
  bool stranger = false;
};

Frame dialed_frame(World& world, ActorId receiver, int node, const DialResult& result) {
  const Header header{.epoch = world.epoch.load(), .sender = receiver, .receiver = receiver, .sequence = 1};
  return encode<wire::Dialed>(header, [&](wire::Dialed::Builder dialed) {
    dialed.setNodeIndex(static_cast<std::uint32_t>(node));
    dialed.setOk(result.mailbox != nullptr);
    dialed.setReason(result.failure);
    dialed.setOwnHost(result.own_host);
    dialed.setStranger(result.stranger);
  });
}

DialResult connect(CafGate& gate, const std::string& host, std::uint16_t port) {
  try {
    const Reached way = reach(host, port, connect_timeout);
    return {mailbox_for(gate.remote_actor(way.address, port)), way.own_address, {}};
  } catch (const net::StrangerError& error) {
    return {nullptr, {}, error.what(), true};
  } catch (const std::exception& error) {
    return {nullptr, {}, error.what()};
  }
}

caf::actor start(caf::actor_system& system, Threading threading, HostArguments arguments) {
  const ActorId id = arguments.id;
  try {
    return threading == Threading::own_thread ? system.spawn<CafHost, caf::detached>(std::move(arguments))
                                              : system.spawn<CafHost>(std::move(arguments));
  } catch (const std::system_error& error) {
    throw Error(
        ErrorKind::environment,
        fmt::format("cannot start a thread for {}: {}. Raise the limit of threads (ulimit -u, the cgroup's "
                    "pids.max) or of memory (ulimit -v), or take fewer ranks a node",
                    to_string(id), error.code().message()));
  }
}

}  // namespace

void CafMailbox::deliver(Frame frame, const MailboxPtr& attached) {
  auto element = caf::make_mailbox_element(nullptr, caf::make_message_id(), caf::no_stages,
                                           Packet{std::move(frame), target_of(attached)});
  tsan_release(target_.get());
  target_->enqueue(std::move(element), nullptr);
}

CafHost::CafHost(caf::actor_config& config, HostArguments arguments)
    : caf::event_based_actor(config), arguments_(std::move(arguments)) {
  mailbox_ = mailbox_for(caf::strong_actor_ptr(ctrl()));
}

caf::behavior CafHost::make_behavior() {
  set_down_handler([this](caf::down_msg& down) { peer_down(down.source, down.reason); });
  World& world = *arguments_.world;
  tsan_acquire(&world);
  const ActorTurn turn(this);
  // Entered here, too: this thread may be faster than the spawning one, and actors that started() sends to
  // must be able to answer.
  std::call_once(*arguments_.entered, [&] { world.book.enter(arguments_.id, mailbox_); });
  try {
    {
      const Doing doing(world.activities.enter(arguments_.id), "its construction", world.clock.now_ns());
      actor_ = arguments_.factory(world);
    }
    actor_->attach(this, arguments_.id, arguments_.parent);
    dispatcher_ = std::make_unique<Dispatcher>(world, *actor_, arguments_.id);
    if (auto failure = dispatcher_->start()) fail(std::move(*failure));
  } catch (...) {
    // The constructor threw, so there is no actor that could make its own Failed.
    struct Nameless final : Actor {
      using Actor::Actor;
      void behavior(Handlers&) override {}
    } nameless(world);
    nameless.attach(this, arguments_.id, arguments_.parent);
    const Caught caught = describe_current_exception();
    fail(nameless.make_failure(caught.what, caught.kind, "(construction)"));
  }
  return {[this](Packet& packet) {
            const ActorTurn turn(this);
            tsan_acquire(ctrl());
            tsan_acquire(packet.frame.data());  // for a frame from another process
            packet.frame.stamp_arrival(arguments_.world->clock.now_ns());
            if (!dispatcher_) return;
            if (auto failure = dispatcher_->dispatch(packet.frame, mailbox_for(std::move(packet.attached)))) {
              fail(std::move(*failure));
            }
          },
          [](AskForSign) { return Sign::value; },
          [this](AskForSign, const caf::actor_addr& peer) { ask_for_sign(peer); }};
}

void CafHost::on_exit() {
  const ActorTurn turn(this);
  arguments_.world->book.remove(arguments_.id);
  // The mailbox holds a strong reference to this actor; dropping it lets the memory go.
  mailbox_.reset();
  // An actor's destructor may wait for threads of its own, and is named where it never returns.
  std::optional<Doing> doing;
  if (dispatcher_) doing.emplace(dispatcher_->activity(), "its end", arguments_.world->clock.now_ns());
  dispatcher_.reset();
  actor_.reset();
  doing.reset();  // it writes into the world, which may end as soon as this actor has
  tsan_release(arguments_.world);
}

void CafHost::spawn(ActorId id, Threading threading, ActorFactory factory, ActorId parent) {
  spawn_hosted(system(), threading, {arguments_.world, id, parent, std::move(factory), arguments_.gate});
}

void CafHost::deliver_after(std::chrono::nanoseconds delay, Frame frame) {
  tsan_release(ctrl());
  delayed_anon_send(caf::actor_cast<caf::actor>(ctrl()), delay, Packet{std::move(frame), nullptr});
}

void CafHost::watch(const MailboxPtr& mailbox, int node) {
  const caf::strong_actor_ptr target = target_of(mailbox);
  if (!target) return;
  const auto peer = caf::actor_cast<caf::actor_addr>(target);
  const auto [entry, is_new] = watched_.try_emplace(peer, Watched{node, arguments_.world->clock.now_ns()});
  entry->second.node = node;
  if (!is_new) return;
  monitor(target);
  ask_for_sign(peer);
}

void CafHost::ask_for_sign(const caf::actor_addr& peer) {
  const auto target = caf::actor_cast<caf::actor>(peer);
  if (!target || !watched_.contains(peer)) return;
  const auto answered = [this, peer](Sign) {
    const auto found = watched_.find(peer);
    if (found == watched_.end()) return;
    found->second.heard_ns = arguments_.world->clock.now_ns();
    delayed_send(this, setting(system(), "middleman.heartbeat-interval"), AskForSign::value, peer);
  };
  // Without an answer nothing is asked again: CAF reports a silent peer as down by its own timeout.
  request(target, caf::infinite, AskForSign::value).then(answered, [](const caf::error&) {});
}

void CafHost::peer_down(const caf::actor_addr& source, const caf::error& reason) {
  const auto found = watched_.find(source);
  if (found == watched_.end()) return;
  const Header header{.epoch = arguments_.world->epoch.load(),
                      .sender = arguments_.id,
                      .receiver = arguments_.id,
                      .sequence = 1};
  const auto [node, heard_ns] = found->second;
  const std::chrono::nanoseconds silent(arguments_.world->clock.now_ns() - heard_ns);
  const std::string why = why_gone(reason, silent, setting(system(), "middleman.connection-timeout"));
  watched_.erase(found);
  mailbox_->deliver(encode<wire::PeerDown>(header,
                                           [&, node = node](wire::PeerDown::Builder down) {
                                             down.setNodeIndex(static_cast<std::uint32_t>(node));
                                             down.setReason(why);
                                           }),
                    nullptr);
}

std::uint16_t CafHost::publish(const std::string& address, std::uint16_t port) {
  return arguments_.gate->publish(caf::strong_actor_ptr(ctrl()), address, port);
}

void CafHost::dial(std::string host, std::uint16_t port, int node) {
  // remote_actor blocks until the connection is open, so a helper on another thread waits for it. The node
  // is an argument because CAF 0.17 follows a null pointer when there are none.
  const HostArguments arguments = arguments_;
  const MailboxPtr answer_to = mailbox_;
  const auto wait = [=](caf::event_based_actor*, int peer) {
    const DialResult result = connect(*arguments.gate, host, port);
    answer_to->deliver(dialed_frame(*arguments.world, arguments.id, peer, result), result.mailbox);
  };
  system().spawn<caf::detached>(wait, node);
}

void CafHost::fail(Frame failure) {
  arguments_.world->ending = true;
  if (arguments_.died) {
    arguments_.died(failure);
  } else if (const MailboxPtr parent = arguments_.world->book.find(arguments_.parent)) {
    parent->deliver(std::move(failure), nullptr);
  }
  quit(caf::exit_reason::unhandled_exception);
}

MailboxPtr spawn_hosted(caf::actor_system& system, Threading threading, HostArguments arguments) {
  World& world = *arguments.world;
  const ActorId id = arguments.id;
  const auto entered = arguments.entered;
  tsan_release(&world);
  const caf::actor actor = start(system, threading, std::move(arguments));
  auto mailbox = mailbox_for(caf::actor_cast<caf::strong_actor_ptr>(actor));
  std::call_once(*entered, [&] { world.book.enter(id, mailbox); });
  return mailbox;
}

}  // namespace d9d
