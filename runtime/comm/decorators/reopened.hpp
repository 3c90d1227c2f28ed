#pragma once
// The communicators of one actor, which can be closed and opened again while modules hold them.
// A sleeping job thereby keeps no connections and no buffers (reference CORE-50, COMMS). No
// torch in this header.

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

  // Returns the communicator that `open` opens. Keeps `open` to open it again, unless the
  // group has one rank.
  std::shared_ptr<Communicator> open(Open open);

  // Closes all communicators that are still held and returns their number. No call may be under way in
  // them, here or on another rank of the group. A call while they are closed is a bug error.
  std::size_t close();
  // Opens them again in the order of the calls of open(), which must be the same on all ranks of a
  // group. Waits for the other ranks and fails as open() does.
  void reopen();

 private:
  std::vector<std::shared_ptr<ReopenedCommunicator>> still_held();

  std::mutex mutex_;
  std::vector<std::weak_ptr<ReopenedCommunicator>> opened_;
};

}  // namespace d9d
