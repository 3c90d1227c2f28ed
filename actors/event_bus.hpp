#pragma once
// EventBus: named points of a job that anyone may listen to. Pool. One per job, on node 0. Parent: Node.
// hears Subscribe Publish AskForListeners    says Event Listeners

#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"

namespace d9d {

// The catalogue: every event that the runtime publishes, in the order of a job's life.
const std::vector<std::string>& event_catalogue();

class EventBus final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override;

  void subscribe(wire::Subscribe::Reader message);
  void publish(wire::Publish::Reader message);
  void ask_for_listeners(wire::AskForListeners::Reader message);

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
  void tell_listeners(const Publisher& publisher);

  std::vector<Publisher> publishers_;        // that asked
  std::vector<Subscription> subscriptions_;  // in their order
};

}  // namespace d9d
