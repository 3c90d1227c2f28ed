#pragma once
// Opens the right backend for a group: no communication for a group of one, shared
// memory when all ranks are on this node, sockets across nodes. No torch in this header.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/device_local/device_local.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {

struct CommunicatorOptions {
  std::chrono::milliseconds timeout{300'000};
  bool check_collectives = false;  // compare what the ranks call and say who did: see checked.hpp
  bool devices = false;            // ranks compute on devices of this process: see device_local.hpp
  std::uint64_t epoch = 0;         // of the membership: groups of different epochs never meet
};

class CommunicatorFactory {
 public:
  // Keeps references to `plan`, `hub` and `transport`. `transport` may be null in a job of one node.
  CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, SocketTransport* transport,
                      CommunicatorOptions options);

  // Opens the communicator of `rank` over these axes. A communicator belongs to one actor; `use`
  // distinguishes communicators over the same ranks ("stage", "gradients"). If the group spans nodes,
  // it waits for the other members, so all ranks must open their groups in the same order. Thread-safe.
  std::unique_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use) const;
  // Opens the communicator for messages from `sender` to
  // `receiver`. The opposite direction needs another one.
  std::unique_ptr<Communicator> open_pair(int rank, int sender, int receiver, const std::string& use) const;
  // The same as SharedMemoryHub::abort_all, of groups between devices.
  void abort_devices(const std::string& reason) const noexcept { devices_->abort_all(reason); }

 private:
  std::unique_ptr<Communicator> open_group(Group group, const std::string& use) const;
  std::unique_ptr<Communicator> open_here(const Group& group) const;
  std::unique_ptr<Communicator> open_across_nodes(const Group& group) const;

  const Plan& plan_;
  SharedMemoryHub& hub_;
  SocketTransport* const transport_;
  const std::unique_ptr<DeviceHub> devices_ = std::make_unique<DeviceHub>();
  const CommunicatorOptions options_;
};

}  // namespace d9d
