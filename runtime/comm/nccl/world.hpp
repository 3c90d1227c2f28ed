#pragma once
// Opens the NCCL groups of one rank. Members find each other over the host's transports, which are
// protected like the rest of the job.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/comm/nccl/late_channel.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

// The groups that the ranks of this process are waiting to open. Ranks that open groups in different
// orders wait for each other; the error after the timeout then names these groups. Thread-safe.
class Openings {
 public:
  void begin(int rank, const std::string& group);
  void end(int rank, const std::string& group);  // not after a failure
  // Returns "; rank 1 waits to open tp[0,1]/stage@1" for each group that another rank waits to open.
  std::string others(int rank) const;

 private:
  mutable std::mutex mutex_;
  std::multimap<int, std::string> waiting_;
};

struct WorldOptions {
  const Api* api = nullptr;
  int device = 0;  // index of this rank's GPU
  int rank = 0;    // global
  std::chrono::milliseconds timeout{300'000};
  std::shared_ptr<Openings> openings = std::make_shared<Openings>();  // shared by all ranks of a process
};
// Opens a communicator of the host over a group. The group's name must be new. Thread-safe.
using OpenHost = std::function<std::unique_ptr<Communicator>(const Group&)>;

// Thread-safe.
class World {
 public:
  World(WorldOptions options, OpenHost open_host);
  ~World();

  // Opens the host's communicators of the group, whose members meet when they first call them (OpenHost). Ranks outside
  // of the group take no part. Threads of a rank may open several groups at a time. connect(), or else the first call
  // with tensors of devices, connects NCCL: it waits for the other members, which make it at the same place of their
  // programs. Environment error after the timeout of a call; it names the groups that other ranks wait to open. Calls
  // with CPU tensors go to a communicator of the host. The communicator may outlive the World.
  // `shared`: groups with the same text have the same ranks, and share an NCCL communicator (group_use.hpp). The first
  // of them that has to connects it, whichever that is on the others. Empty: the group has one of its own.
  std::unique_ptr<Communicator> open(const Group& group, const std::string& shared = "");
  // Sets the timeout of calls in all open groups. From any thread.
  void set_call_timeout(std::chrono::milliseconds timeout);
  // Fails all groups, and every open() that comes later. From any thread.
  void abort(const std::string& reason) noexcept;

 private:
  struct Shared;
  std::shared_ptr<LateChannel> late_channel(const Group& group) const;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace d9d::nccl
