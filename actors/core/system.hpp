#pragma once
// The actor system of one process: threads, the network, and its end.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/base/error.hpp"
#include "runtime/net/gate.hpp"

namespace d9d {

struct SystemOptions {
  std::size_t pool_threads = 2;
  std::chrono::milliseconds heartbeat_interval{500};
  std::chrono::milliseconds connection_timeout{5000};  // a silent peer counts as gone after this
  net::Gate* gate = nullptr;  // outlives the system; null: the system makes a plain one
};

class ActorSystem {
 public:
  // `world` outlives the system.
  ActorSystem(World& world, const SystemOptions& options);
  ~ActorSystem();

  // Spawns an actor without a parent. `died` is called on its thread after it threw and ended, because no
  // actor hears of that.
  using RootDied = std::function<void(ErrorKind kind, const std::string& report)>;
  MailboxPtr spawn_root(ActorId id, Threading threading, ActorFactory factory, RootDied died = {});
  // Waits for all actors to end; false when some are still there after `deadline`.
  bool await_all(std::chrono::milliseconds deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d9d
