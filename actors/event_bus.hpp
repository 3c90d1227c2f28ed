#pragma once
// EventBus: named points of a job that anyone may listen to. Pool. One per job, on node 0. Parent: Node.
// hears Subscribe Publish AskForListeners FlushEvents KeepState
// says Event Listeners FlushEvents EventsHeard KeepState StateKept Stop

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"

namespace d9d {

// The catalogue: every event that the runtime publishes, in the order of a job's life.
const std::vector<std::string>& event_catalogue();

class EventBus final : public Actor {
 public:
  // `own_actors`: how many the job has. The EventBus stops them, after the Events that it has sent to them.
  EventBus(World& world, std::size_t own_actors) : Actor(world), own_actors_(own_actors) {}
  void behavior(Handlers& handlers) override;
  void stop() override;

  void subscribe(wire::Subscribe::Reader message);
  void publish(wire::Publish::Reader message);
  void ask_for_listeners(wire::AskForListeners::Reader message);
  void flush_events(wire::FlushEvents::Reader message);
  void keep_state(wire::KeepState::Reader message);

 private:
  struct Subscription {
    std::string name;  // "*": everything
    ActorId listener;
    bool every_rank = false;
  };
  struct Publisher {
    ActorId id;
    std::uint32_t rank;
  };
  // An event, and the actors that have got it.
  struct Happened {
    std::string name;
    std::uint64_t step;
    std::string context;
    std::uint32_t rank;
    std::set<ActorId> told{};
  };
  static bool is_for(const Subscription& subscription, const Happened& happened);
  void tell_once(ActorId listener, Happened& happened);
  void tell_listeners(const Publisher& publisher);

  const std::size_t own_actors_;
  std::vector<Publisher> publishers_;        // those that asked for Listeners
  std::vector<Subscription> subscriptions_;  // oldest first
  std::set<ActorId> deciding_, keeping_;     // own actors that set `decides`, `keepsState`
  std::vector<Happened> beginning_;  // events before the first step, for late subscribers; a few a rank
};

}  // namespace d9d
