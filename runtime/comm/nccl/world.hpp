#pragma once
// How one rank opens its groups. Members find each other over the host's transports, which are protected as the job is.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/nccl/channel.hpp"
#include "runtime/comm/nccl/openings.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

struct WorldOptions {
  const Api* api = nullptr;
  int device = 0;  // index of this rank's GPU
  int rank = 0;    // global
  std::chrono::milliseconds timeout{300'000};
  std::shared_ptr<Openings> openings = std::make_shared<Openings>();  // one of all ranks of a process
};
// A communicator of the host over a group, whose name has not been used before. Thread-safe.
using OpenHost = std::function<std::unique_ptr<Communicator>(const Group&)>;

// Thread-safe.
class World {
 public:
  World(WorldOptions options, OpenHost open_host);
  ~World();

  // Waits until all members have opened the group; other ranks take no part, and threads of a rank may open several at a
  // time. Environment error at the deadline, with what other ranks wait to open. NCCL connects the members in their
  // first call, which is to come at the same place of their programs. Tensors of the host go over a communicator of
  // the host. The communicator may outlive the World.
  std::unique_ptr<Communicator> open(const Group& group);
  // From any thread: of all groups that are open.
  void set_call_timeout(std::chrono::milliseconds timeout);
  // From any thread: ends all groups, and every open() from now on.
  void abort(const std::string& reason) noexcept;

 private:
  struct Shared;
  std::unique_ptr<Communicator> connected(const Group& group) const;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace d9d::nccl
