#pragma once
// What the Node of a process knows at its start.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "actors/notes/membership.hpp"
#include "runtime/launch/own_address.hpp"

namespace d9d {

struct NodeOptions {
  bool first = true;       // this is node 0, which spawns the Coordinator
  CastMember coordinator;  // node 0 only
  HostPort join;           // not on node 0: where node 0 listens
  // How long the nodes may take to find each other; the same on all of them.
  std::chrono::milliseconds join_timeout{600'000};
  // How long the actors of this process may take until they are ready.
  std::chrono::milliseconds init_timeout{10'000'000};
  std::uint32_t ranks = 0;        // how many this process offers; 0 = all that are left
  int node_index = -1;            // the index that it asks for; -1 = any
  std::uint64_t command = 0;      // number of the command that started this process beside others; 0: none
  std::uint32_t place = 0;        // among the processes of that command
  std::uint64_t host_number = 0;  // equal on processes that are known to run on one host; 0: unknown
  bool opens_port = false;        // a job of one process needs none
  AddressOptions address;         // where this process listens, and the address it announces
  std::string build;
  std::string job_hash;
  std::string job_keys;  // the JSON that job_hash is the hash of
  std::string inputs;    // see node_inputs(); empty: not compared
  std::uint64_t incarnation = 0;
  std::string events = "train";  // or "inference": the prefix of the names of events
  std::function<std::vector<CastMember>(const Membership&)> cast;
  std::function<AddressBook::NodeOf()> node_of;  // called after `cast`
  // Wakes every actor that waits in a collective. Called once, when the job fails.
  std::function<void(const std::string& reason)> abort_collectives;
  std::function<void()> on_training{};  // called when training begins; may be empty
  std::function<void(int exit_code)> on_end;
  // Called when the port is open; `host` is numeric, or a wildcard. May be empty.
  std::function<void(const std::string& host, std::uint16_t port)> on_open{};
  // Called when the job has formed, before its members dial one another with this secret. May be empty.
  std::function<void(const std::string& secret)> enter_membership{};
  bool has_token = false;  // whether the user gave the job a token
};

}  // namespace d9d
