#pragma once
// Runs one Actor as a CAF actor: on a separate thread or on CAF's pool.

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>

#include <map>
#include <memory>
#include <mutex>

#include "actors/core/actor.hpp"
#include "actors/core/caf_gate.hpp"
#include "actors/core/caf_packet.hpp"
#include "actors/core/dispatcher.hpp"

namespace d9d {

class CafMailbox final : public Mailbox {
 public:
  explicit CafMailbox(caf::strong_actor_ptr target) : target_(std::move(target)) {}
  void deliver(Frame frame, const MailboxPtr& attached) override;
  const caf::strong_actor_ptr& target() const { return target_; }

 private:
  caf::strong_actor_ptr target_;
};

struct HostArguments {
  World* world;
  ActorId id;
  ActorId parent;
  ActorFactory factory;
  CafGate* gate = nullptr;
  // For an actor without a parent: called with the failure that ends it.
  std::function<void(const Frame& failure)> died = {};
  // Guards the entry into the address book, which the spawning thread or the actor's thread makes,
  // whichever comes first. It happens once, so that an actor that failed at once is not entered again.
  std::shared_ptr<std::once_flag> entered = std::make_shared<std::once_flag>();
};

class CafHost final : public caf::event_based_actor, public ActorHost {
 public:
  CafHost(caf::actor_config& config, HostArguments arguments);
  caf::behavior make_behavior() override;
  const char* name() const override { return "d9d.actor"; }
  void on_exit() override;

  MailboxPtr mailbox() override { return mailbox_; }
  void spawn(ActorId id, Threading threading, ActorFactory factory, ActorId parent) override;
  void deliver_after(std::chrono::nanoseconds delay, Frame frame) override;
  void watch(const MailboxPtr& mailbox, int node) override;
  std::uint16_t publish(const std::string& address, std::uint16_t port) override;
  void dial(std::string host, std::uint16_t port, int node) override;
  void finish() override { quit(); }

 private:
  void fail(Frame failure);
  void peer_down(const caf::actor_addr& source, const caf::error& reason);
  void ask_for_sign(const caf::actor_addr& peer);

  HostArguments arguments_;
  MailboxPtr mailbox_;
  std::unique_ptr<Actor> actor_;
  std::unique_ptr<Dispatcher> dispatcher_;
  struct Watched {
    int node = 0;
    std::int64_t heard_ns = 0;  // when its last sign of life came
  };
  std::map<caf::actor_addr, Watched> watched_;
};

// Spawns an actor. When this returns the actor is in the address book, unless it has ended already.
MailboxPtr spawn_hosted(caf::actor_system& system, Threading threading, HostArguments arguments);

}  // namespace d9d
