#pragma once
// Collectives between processes over TCP, through Gloo. One transport per process, shared by its ranks;
// several ranks of a process may be members of one group. No torch in this header.

#include <chrono>
#include <memory>
#include <string>

#include "runtime/comm/store.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {

class Communicator;

class GlooTransport {
 public:
  // `address`: of this host, as the other nodes reach it. `store` outlives the transport. From here on the
  // process ignores SIGPIPE, unless it has a handler: a lost peer is an error of the call, not the end.
  GlooTransport(const std::string& address, Store& store);
  ~GlooTransport();

  // Waits until all members have opened the group; environment error that names who did not come in time.
  // `group.name` must not have been used with this store before: give an epoch in it.
  std::unique_ptr<Communicator> open(const Group& group, std::chrono::milliseconds timeout);

 private:
  struct Device;
  std::unique_ptr<Device> device_;
  Store& store_;
};

}  // namespace d9d
