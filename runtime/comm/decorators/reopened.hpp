#pragma once
// The communicators of one actor, which can be closed and opened again under the modules that hold them: a job asleep
// keeps no connection and no buffer of them (reference CORE-50, COMMS). No torch in this header.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace d9d {

class Communicator;
class ReopenedCommunicator;

class ReopenedCommunicators {
 public:
  using Open = std::function<std::shared_ptr<Communicator>()>;

  ReopenedCommunicators();
  ~ReopenedCommunicators();
  ReopenedCommunicators(const ReopenedCommunicators&) = delete;
  ReopenedCommunicators& operator=(const ReopenedCommunicators&) = delete;

  // Opens one and hands it out; `open` is kept to open it again. A group of one is handed out as it is.
  std::shared_ptr<Communicator> open(Open open);

  // Closes those that are still in use and returns how many. Nothing may be under way in them, here or on another rank
  // of the group. A call while they are closed is a bug.
  std::size_t close();
  // Opens them again, in the order in which open() was called, which has to be the same on all ranks of a group: waits
  // for the other ranks as open() did, and fails as it does.
  void reopen();

 private:
  std::vector<std::shared_ptr<ReopenedCommunicator>> still_held();

  std::mutex mutex_;
  std::vector<std::weak_ptr<ReopenedCommunicator>> opened_;
};

}  // namespace d9d
