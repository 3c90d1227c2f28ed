#pragma once
// The nodes that have joined a job, and the reasons to refuse others. The Coordinator's bookkeeping.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/mailbox.hpp"
#include "messages/actor_id.hpp"
#include "messages/cluster.capnp.h"

namespace d9d {

// Must be equal on a joining node and on node 0.
struct JobIdentity {
  std::string build;
  std::string job_hash;
  std::string keys;    // the JSON that job_hash is the hash of
  std::string inputs;  // see node_inputs(); empty: not compared
};

struct Member {
  MailboxPtr mailbox;
  ActorId id;  // its id when it joined
  std::string host;
  std::uint16_t port = 0;
  int ranks = 0;
  int wish = -1;  // the index it asked for, -1 = any
  std::uint64_t incarnation = 0;
  int number = 0;                 // counts the joins; stays the same while indices change
  std::uint64_t command = 0;      // number of the command that started it beside others; 0: none
  std::uint32_t place = 0;        // of this process among those of the command
  std::uint64_t host_number = 0;  // as in Join
};

class Roster {
 public:
  Roster(int world_size, JobIdentity identity) : world_size_(world_size), identity_(std::move(identity)) {}

  int ranks() const;
  bool full() const { return ranks() == world_size_; }
  bool knows(std::uint64_t incarnation) const;
  // Why the node may not join; empty: it may. No node may join once `closed()`.
  std::string reason_to_refuse(wire::Join::Reader join) const;
  // A node that offers no number of ranks takes what is left.
  void add(wire::Join::Reader join, MailboxPtr mailbox, ActorId id);
  void remove(std::size_t node);
  // The index of the member with this number; none when the member is gone.
  std::optional<std::size_t> index_of(int number) const;
  void note_refused(const std::string& host, const std::string& reason);
  // "1 of 2 ranks are here; 1 node was refused, at 10.0.0.2: ...", for people.
  std::string missing() const;
  // Ends the joining and numbers the nodes. Node 0 is the node of the Coordinator, which joined first. The
  // others follow in the order of the indices that they asked for, then of arrival. Processes of one
  // command stay together, in order.
  void close();
  bool closed() const { return closed_; }

  const std::vector<Member>& members() const { return members_; }  // once closed, the index is the node

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
