#pragma once
// All open communicators of a process, so that the end of a job can wake the threads that
// wait in them. Thread-safe.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace d9d {

class Communicator;

class OpenCommunicators {
 public:
  // After abort_all(), a communicator that is added is aborted at once.
  void add(const std::shared_ptr<Communicator>& communicator);
  void abort_all(const std::string& reason) noexcept;
  // Calls Communicator::check() of each.
  void check() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Communicator>> open_;
  bool aborted_ = false;
  std::string reason_;
};

}  // namespace d9d
