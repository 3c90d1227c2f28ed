#pragma once
// Opens a communicator for a group and chooses its backend. A group of one rank does not communicate;
// ranks of one node use shared memory, ranks of several nodes sockets, devices device_local or NCCL. No
// torch in this header.

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

// How ranks communicate tensors of their devices.
struct DeviceCollectives {
  enum class Kind { none, local, nccl };  // no devices; device_local.hpp (one node); nccl/world.hpp
  Kind kind = Kind::none;
  const nccl::Api* nccl = nullptr;
  std::function<int(int rank)> device_of = {};  // nccl: index of a rank's device; no two ranks share one
  std::chrono::milliseconds call_timeout{0};    // nccl; 0: the timeout for opening
};

struct CommunicatorOptions {
  std::chrono::milliseconds timeout{300'000};
  bool check_collectives = false;  // compare the calls of all ranks: see checked.hpp
  DeviceCollectives devices = {};
  std::uint64_t epoch = 0;  // of the membership: groups of different epochs never meet
};

class CommunicatorFactory {
 public:
  // `plan`, `hub` and `transport` must outlive the factory. `transport` may be null in a
  // job of one node.
  CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, SocketTransport* transport,
                      CommunicatorOptions options);
  ~CommunicatorFactory();

  // Opens the communicator of `rank` over these axes. `use` distinguishes communicators over the same
  // ranks, because each belongs to one actor ("stage", "gradients"). Waits for the other members if the
  // group spans nodes, so all ranks must open such groups in the same order; but not if it is of devices, or for
  // gathers and gradients, of which a mesh has some that nobody calls: their first call waits. Thread-safe.
  std::unique_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use) const;
  // The same for CPU tensors only, also where ranks have devices: opens
  // no communicator between devices.
  std::unique_ptr<Communicator> open_on_host(int rank, const std::string& domain,
                                             const std::vector<std::string>& axes,
                                             const std::string& use) const;
  // Opens the communicator for messages from `sender` to `receiver`. The opposite
  // direction needs another one.
  std::unique_ptr<Communicator> open_pair(int rank, int sender, int receiver, const std::string& use) const;
  std::unique_ptr<Communicator> open_pair_on_host(int rank, int sender, int receiver,
                                                  const std::string& use) const;
  // Changes DeviceCollectives::call_timeout for the NCCL groups that the rank has
  // opened so far. Thread-safe.
  void set_call_timeout(int rank, std::chrono::milliseconds timeout) const;
  // Fails all groups between devices, as SharedMemoryHub::abort_all does for those of the host.
  void abort_devices(const std::string& reason) const noexcept;

 private:
  std::unique_ptr<Communicator> open_group(Group group, const std::string& use, bool on_host = false) const;
  Group pair_of(int rank, int sender, int receiver) const;
  // `late`: connects to other processes when the group is first called.
  std::unique_ptr<Communicator> open_host(const Group& group, bool late) const;
  std::unique_ptr<Communicator> open_devices(const Group& group, const std::string& use) const;
  std::unique_ptr<Communicator> open_across_nodes(const Group& group, bool late) const;

  const Plan& plan_;
  SharedMemoryHub& hub_;
  SocketTransport* const transport_;
  const std::unique_ptr<DeviceHub> devices_ = std::make_unique<DeviceHub>();
  const CommunicatorOptions options_;
  struct NcclWorlds;
  const std::unique_ptr<NcclWorlds> worlds_;
};

}  // namespace d9d
