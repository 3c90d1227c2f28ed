#pragma once
// What the ranks of a job tell each other when a group has failed: over the host, beside NCCL, as NCCL is stuck then.

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

// Of one rank. Thread-safe.
class Witnesses {
 public:
  explicit Witnesses(int rank) : order(rank) {}

  void join(const Group& group, std::shared_ptr<Communicator> host);
  void leave(const std::string& group);
  // Wakes compare() of this group.
  void abort(const std::string& group, const std::string& reason) noexcept;

  // Tells all members of all groups what this rank has launched, once, as it does not know in which of its groups the
  // others see the failure; then hears what those of `group` have to tell. "rank 1 launched A where rank 0 launched
  // B", "not all ranks answer: ...", or "all ranks launched the same".
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
