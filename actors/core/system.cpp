#include "actors/core/system.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <fmt/format.h>

#include <thread>

#include "actors/core/caf_host.hpp"
#include "actors/core/failure_kind.hpp"
#include "actors/core/tsan_order.hpp"

namespace d9d {
namespace {

class Config final : public caf::actor_system_config {
 public:
  explicit Config(const SystemOptions& options) {
    load<caf::io::middleman>();
    add_message_type<Packet>("d9d.packet");
    // Work stealing polls and costs four times the round trip; more workers add a hop per message.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", options.pool_threads);
    set("middleman.workers", std::size_t{0});
    set("middleman.heartbeat-interval", caf::timespan(options.heartbeat_interval));
    set("middleman.connection-timeout", caf::timespan(options.connection_timeout));
    set("logger.verbosity", caf::atom("quiet"));
  }
};

}  // namespace

struct ActorSystem::Impl {
  Impl(World& w, const SystemOptions& options)
      : world(w),
        config(options),
        system(config),
        way(system, options.gate != nullptr ? *options.gate : own_gate, w.connections) {}
  World& world;
  Config config;
  net::Gate own_gate;
  caf::actor_system system;
  CafGate way;
};

ActorSystem::ActorSystem(World& world, const SystemOptions& options) {
  impl_ = std::make_unique<Impl>(world, options);
}

// CAF waits for the threads of ended actors, and these threads wait until the last mailbox of their
// actor is gone. Emptying the book drops those mailboxes.
ActorSystem::~ActorSystem() {
  impl_->world.book.clear();
}

MailboxPtr ActorSystem::spawn_root(ActorId id, Threading threading, ActorFactory factory, RootDied died) {
  HostArguments arguments{&impl_->world, id, ActorId{}, std::move(factory), &impl_->way};
  if (died) {
    arguments.died = [died = std::move(died)](const Frame& frame) {
      const Decoded decoded(frame);
      const auto failed = decoded.body<wire::Failed>();
      died(failure_kinds.from_wire(failed.getKind()),
           fmt::format("{} failed while handling {}: {}", std::string(failed.getActor()),
                       std::string(failed.getMessage()), std::string(failed.getText())));
    };
  }
  return spawn_hosted(impl_->system, threading, std::move(arguments));
}

bool ActorSystem::await_all(std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (impl_->system.registry().running() > 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  tsan_acquire(&impl_->world);
  return true;
}

}  // namespace d9d
