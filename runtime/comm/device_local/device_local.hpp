#pragma once
// Collectives between ranks whose devices can read each other's memory: devices of one process. Each rank's thread
// tells the others where its tensor is and by which event it is filled; then its own stream copies what it needs and
// adds, behind these events. Threads meet on the host, as ranks of the CPU do, and none waits for a device.

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

  // This rank's communicator of the group. Tensors of the CPU go to `host`, over the same ranks. Work goes to the
  // stream `communicate` of the device that the call's tensors are on. A position that is open already is a bug, and
  // so is a group that is open with other ranks.
  std::unique_ptr<Communicator> open(const Group& group, std::unique_ptr<Communicator> host,
                                     std::chrono::milliseconds timeout);
  // Every thread that waits in a group gets an environment error.
  void abort_all(const std::string& reason) noexcept;

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<comm::DeviceGroup>> groups_;
};

}  // namespace d9d
