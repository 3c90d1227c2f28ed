#pragma once
// What the Node of a process is given.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "actors/notes/membership.hpp"
#include "runtime/launch/own_address.hpp"

namespace d9d {

struct NodeOptions {
  bool first = true;       // node 0: makes the coordinator
  CastMember coordinator;  // node 0 only
  HostPort join;           // the others: where node 0 listens
  // Until when all nodes have found each other; the same on all of them.
  std::chrono::milliseconds join_timeout{600'000};
  std::uint32_t ranks = 0;    // offered; 0 = all that are left
  int node_index = -1;        // wished
  std::uint64_t command = 0;  // that started this process beside others of its host; 0: none did
  std::uint32_t place = 0;    // among the processes of that command
  bool opens_port = false;    // a job of one process needs none
  AddressOptions address;     // where this process listens, and as what
  std::string build;
  std::string job_hash;
  std::string job_keys;  // JSON behind job_hash
  std::uint64_t incarnation = 0;
  std::string events = "train";  // or "inference": how the names of the job's events begin
  std::function<std::vector<CastMember>(const Membership&)> cast;
  std::function<AddressBook::NodeOf()> node_of;  // asked after cast
  // Wakes every actor that waits in a collective; called once, when the job fails.
  std::function<void(const std::string& reason)> abort_collectives;
  std::function<void()> on_training{};  // all have joined, and training begins; may be empty
  std::function<void(int exit_code)> on_end;
  // When the port is open; `host` is numeric, or a wildcard. May be empty.
  std::function<void(const std::string& host, std::uint16_t port)> on_open{};
  // The job has formed: with this secret, which its members know, they dial each other. May be empty.
  std::function<void(const std::string& secret)> enter_membership{};
  bool has_token = false;  // the user has given the job one
};

}  // namespace d9d
