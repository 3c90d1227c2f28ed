#pragma once
// Collectives between ranks of one process, whose devices can read each other's memory. The threads of
// the ranks meet on the host, as over shared memory, and show each other the tensor's address and the
// event that marks it as filled. Each rank's stream then waits for these events, copies what it needs
// and adds. No thread waits for a device.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/mesh/plan.hpp"

namespace d9d {

class Communicator;
namespace comm {
struct DeviceGroup;
}

// One per process and epoch.
class DeviceHub {
 public:
  DeviceHub();
  ~DeviceHub();
  DeviceHub(const DeviceHub&) = delete;
  DeviceHub& operator=(const DeviceHub&) = delete;

  // Opens this rank's communicator of the group. Calls with CPU tensors go to `host`, a communicator
  // over the same ranks. Calls with device tensors queue work on the stream `communicate` of the
  // tensors' device. Bug error if the position is open already, or the group is open with other ranks.
  std::unique_ptr<Communicator> open(const Group& group, std::unique_ptr<Communicator> host,
                                     std::chrono::milliseconds timeout);
  // Fails all open groups: every thread that waits in one gets an environment error.
  void abort_all(const std::string& reason) noexcept;

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<comm::DeviceGroup>> groups_;
};

}  // namespace d9d
