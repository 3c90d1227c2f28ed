#pragma once
// What a node knows when the job has formed, and the actors that it then spawns.

#include <cstdint>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/base/host/host_port.hpp"

namespace d9d {

// The cast of a node depends on this alone.
struct Membership {
  std::uint32_t epoch = 0;
  int node = 0;
  std::vector<int> ranks_per_node;
  std::vector<std::uint64_t>
      host_numbers;                 // by node: equal on nodes that are known to run on one host; 0: unknown
  std::vector<HostPort> addresses;  // how this node reaches each node; for itself, how the others reach it
  std::string bound_host;           // where this process listens: numeric, or a wildcard
  std::string resume_from;
  std::uint64_t resume_step = 0;
  std::string resume_state;
  std::uint64_t resume_sample = 0;
  std::string tag;  // random per job start: part of the names of files being written
};

struct CastMember {
  ActorId id;
  Threading threading = Threading::pool;
  ActorFactory factory;
  bool says_ready = false;  // training starts when all of these are ready
  bool goes_first = false;  // spawned before the rest, which waits until these are ready
};

}  // namespace d9d
