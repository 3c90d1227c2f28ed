#pragma once
// Collectives between ranks that are threads of one process. Each rank reads the others' buffers in place,
// sums its part in rank order and writes it to all. A process has one hub, which its node owns; actors
// open communicators with it.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/mesh/plan.hpp"

namespace d9d {

class Communicator;
namespace comm {
struct SharedGroup;
}

class SharedMemoryHub {
 public:
  SharedMemoryHub();
  ~SharedMemoryHub();
  SharedMemoryHub(const SharedMemoryHub&) = delete;
  SharedMemoryHub& operator=(const SharedMemoryHub&) = delete;

  // Opens this rank's communicator of the group `group.name`. Does not wait: the first operation waits for
  // the other ranks. Bug error if the position is open already. A group that has failed, or that a rank
  // has left, begins anew.
  std::unique_ptr<Communicator> open(const Group& group, std::chrono::milliseconds timeout);

  // Fails all open groups: every thread that waits in one gets an environment error.
  void abort_all(const std::string& reason) noexcept;

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<comm::SharedGroup>> groups_;
};

}  // namespace d9d
