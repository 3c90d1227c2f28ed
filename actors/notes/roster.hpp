#pragma once
// Who takes part in a job: the nodes that joined, and why another one may not. The Coordinator's bookkeeping.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/mailbox.hpp"
#include "messages/actor_id.hpp"
#include "messages/cluster.capnp.h"

namespace d9d {

// What a node must have in common with node 0.
struct JobIdentity {
  std::string build;
  std::string job_hash;
  std::string keys;  // JSON behind the hash
};

struct Member {
  MailboxPtr mailbox;
  ActorId id;  // what it called itself when it joined
  std::string host;
  std::uint16_t port = 0;
  int ranks = 0;
  int wish = -1;  // the index it asked for, -1 = any
  std::uint64_t incarnation = 0;
  int number = 0;             // of its joining; stays while indices change
  std::uint64_t command = 0;  // that started it beside others of its host; 0: none did
  std::uint32_t place = 0;    // among those
};

class Roster {
 public:
  Roster(int world_size, JobIdentity identity) : world_size_(world_size), identity_(std::move(identity)) {}

  int ranks() const;
  bool full() const { return ranks() == world_size_; }
  bool knows(std::uint64_t incarnation) const;
  // Empty: it may join. No node may join once `closed()`.
  std::string reason_to_refuse(wire::Join::Reader join) const;
  // A node that offers no number of ranks takes what is left.
  void add(wire::Join::Reader join, MailboxPtr mailbox, ActorId id);
  void remove(std::size_t node);
  // Of the member with this number; none when it is gone.
  std::optional<std::size_t> index_of(int number) const;
  void note_refused(const std::string& host, const std::string& reason);
  // "1 of 2 ranks are here; 1 node was refused, at 10.0.0.2: ...", for people.
  std::string missing() const;
  // Ends the joining and numbers the nodes: node 0 is where the coordinator lives and joined first, the others follow
  // in the order of their wishes, then of arrival. Processes of one command stay together, in their order.
  void close();
  bool closed() const { return closed_; }

  const std::vector<Member>& members() const { return members_; }  // once closed: index = node

 private:
  std::string trouble_with_address(wire::Join::Reader join) const;
  int arrival(const Member& member) const;

  int world_size_;
  JobIdentity identity_;
  std::vector<Member> members_;
  int joined_ = 0;
  bool closed_ = false;
  int refused_ = 0;
  std::string last_refusal_;
};

}  // namespace d9d
