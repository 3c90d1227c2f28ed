#pragma once
// All ranks of a job as NCCL knows them, seen from one of them: groups are split off one communicator, so that they
// share its connections. The ranks find each other over the host's transports, which are protected as the job is.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/nccl/channel.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

struct WorldOptions {
  const Api* api = nullptr;
  int device = 0;  // index of this rank's GPU
  Group group;     // all ranks
  std::chrono::milliseconds timeout{300'000};
};
// A communicator of the host over a group, whose name has not been used before. Thread-safe.
using OpenHost = std::function<std::unique_ptr<Communicator>(const Group&)>;

enum class OpenedBy { all_ranks, members };

class World {
 public:
  // Waits until all ranks are here. Environment error at the deadline.
  World(WorldOptions options, OpenHost open_host);
  ~World();

  // Waits until all members have opened the group, and connects them. By all_ranks: every rank of the world calls this
  // at the same point, each for its group of the same role, "dp[0,2]/stage" and "dp[1,3]/stage"; a bug where roles
  // differ. By the members alone: for pairs, which share no connections with other groups.
  // Tensors of the host go over a communicator of the host. The communicator may outlive the World.
  std::unique_ptr<Communicator> open(const Group& group, OpenedBy by = OpenedBy::all_ranks);

 private:
  struct Shared;
  std::unique_ptr<Communicator> open_alone(const Group& group) const;
  std::unique_ptr<Communicator> connected(const Group& group, const Channel::Open& make) const;

  const std::shared_ptr<Shared> shared_;
  const std::unique_ptr<Communicator> host_;
};

}  // namespace d9d::nccl
