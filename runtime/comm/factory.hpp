#pragma once
// Opens the right backend for a group: no communication for a group of one, shared memory when all ranks are on this
// node, sockets across nodes; between devices device_local or NCCL. No torch in this header.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/device_local/device_local.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d {

namespace nccl {
struct Api;
}

// How ranks sum what their devices hold.
struct DeviceCollectives {
  enum class Kind { none, local, nccl };  // no devices; device_local.hpp (one node); nccl/world.hpp
  Kind kind = Kind::none;
  const nccl::Api* nccl = nullptr;
  std::function<int(int rank)> device_of = {};  // of nccl: the index of a rank's device, one for each rank
  std::chrono::milliseconds call_timeout{0};    // of nccl; 0: as long as for opening
};

struct CommunicatorOptions {
  std::chrono::milliseconds timeout{300'000};
  bool check_collectives = false;  // compare what the ranks call and say who did: see checked.hpp
  DeviceCollectives devices = {};
  std::uint64_t epoch = 0;  // of the membership: groups of different epochs never meet
};

class CommunicatorFactory {
 public:
  // Keeps references to `plan`, `hub` and `transport`. `transport` may be null in a job of one node.
  CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, SocketTransport* transport,
                      CommunicatorOptions options);
  ~CommunicatorFactory();

  // Opens the communicator of `rank` over these axes. A communicator belongs to one actor; `use`
  // distinguishes communicators over the same ranks ("stage", "gradients"). If the group spans nodes,
  // it waits for the other members, so all ranks must open their groups in the same order. Thread-safe.
  std::unique_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use) const;
  // The same for values of the host alone, which a device's ranks open no device's communicator for.
  std::unique_ptr<Communicator> open_on_host(int rank, const std::string& domain,
                                             const std::vector<std::string>& axes,
                                             const std::string& use) const;
  // Opens the communicator for messages of the host from `sender` to
  // `receiver`. The opposite direction needs another one.
  std::unique_ptr<Communicator> open_pair(int rank, int sender, int receiver, const std::string& use) const;
  // The same as SharedMemoryHub::abort_all, of groups between devices.
  void abort_devices(const std::string& reason) const noexcept;

 private:
  std::unique_ptr<Communicator> open_group(Group group, const std::string& use, bool on_host = false) const;
  std::unique_ptr<Communicator> open_host(const Group& group) const;
  std::unique_ptr<Communicator> open_devices(const Group& group) const;
  std::unique_ptr<Communicator> open_across_nodes(const Group& group) const;

  const Plan& plan_;
  SharedMemoryHub& hub_;
  SocketTransport* const transport_;
  const std::unique_ptr<DeviceHub> devices_ = std::make_unique<DeviceHub>();
  const CommunicatorOptions options_;
  struct NcclWorlds;
  const std::unique_ptr<NcclWorlds> worlds_;
};

}  // namespace d9d
