#include "runtime/comm/open_communicators.hpp"

#include "runtime/comm/communicator.hpp"

namespace d9d {

void OpenCommunicators::add(const std::shared_ptr<Communicator>& communicator) {
  const std::lock_guard lock(mutex_);
  open_.push_back(communicator);
  if (aborted_) communicator->abort(reason_);
}

void OpenCommunicators::abort_all(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  reason_ = reason;
  for (const auto& weak : open_) {
    if (const auto communicator = weak.lock()) communicator->abort(reason);
  }
}

void OpenCommunicators::check() const {
  const std::lock_guard lock(mutex_);
  for (const auto& weak : open_) {
    if (const auto communicator = weak.lock()) communicator->check();
  }
}

}  // namespace d9d
