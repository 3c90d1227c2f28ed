#pragma once
// The messages between ranks after a group has failed: what each has launched. They go over the host's
// transports, because NCCL is stuck then.

#include <ATen/core/Tensor.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/comm/nccl/launch_order.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {
class Communicator;
}

namespace d9d::nccl {

// The part of one rank. Thread-safe.
class Witnesses {
 public:
  explicit Witnesses(int rank) : order(rank) {}

  void join(const Group& group, std::shared_ptr<Communicator> host);
  void leave(const std::string& group);
  // Ends a compare() of this group that waits.
  void abort(const std::string& group, const std::string& reason) noexcept;

  // Sends this rank's launches to all members of all its groups, once, because it does not know in
  // which group the others notice the failure. Then waits for the launches of the members of `group`,
  // at most `patience` for each. Returns "rank 1 launched A where rank 0 launched B", "... not all
  // ranks answer: ..." or "all ranks launched the same".
  std::string compare(const std::string& group, std::chrono::milliseconds patience);

  LaunchOrder order;

 private:
  struct Member {
    Group group;
    std::shared_ptr<Communicator> host;
    bool told = false;
  };
  std::map<std::string, Member> members_now();
  static void tell(const Member& member, const at::Tensor& message);

  std::mutex mutex_;
  std::map<std::string, Member> members_;
};

}  // namespace d9d::nccl
