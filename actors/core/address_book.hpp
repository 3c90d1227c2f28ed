#pragma once
// Finds the mailbox of an actor. Actors of this process are entered one by one. An actor of
// another process is reached through its node, which passes the frame on. One per process, a
// member of the world. Thread-safe.

#include <functional>
#include <map>
#include <shared_mutex>
#include <vector>

#include "actors/core/mailbox.hpp"
#include "messages/actor_id.hpp"

namespace d9d {

class AddressBook {
 public:
  static constexpr int unknown = -1;
  // The node an actor lives on (a pure function of the job's plan), or unknown.
  using NodeOf = std::function<int(ActorId)>;

  void enter(ActorId id, MailboxPtr mailbox);
  void remove(ActorId id);
  void enter_node(int node, MailboxPtr mailbox);
  void set_node_of(NodeOf node_of);

  // Null when its address is unknown.
  MailboxPtr find(ActorId id) const;
  MailboxPtr find_local(ActorId id) const;
  std::vector<ActorId> locals() const;
  void clear();

 private:
  mutable std::shared_mutex mutex_;
  std::map<ActorId, MailboxPtr> local_;
  std::map<int, MailboxPtr> nodes_;
  NodeOf node_of_;
};

}  // namespace d9d
