#include "runtime/comm/abort_flag.hpp"

#include "runtime/base/error.hpp"

namespace d9d::comm {

bool AbortFlag::set(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (set_.load(std::memory_order_relaxed)) return false;
  try {
    reason_ = reason;
  } catch (...) {  // no memory for the text; the flag matters more
  }
  set_.store(true, std::memory_order_release);
  return true;
}

std::string AbortFlag::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void AbortFlag::throw_if_set(const char* operation, const std::string& group,
                             const std::string& backend) const {
  if (is_set()) fail_in_group(operation, group, backend, reason());
}

void fail_in_group(const char* operation, const std::string& group, const std::string& backend,
                   const std::string& reason) {
  throw Error(ErrorKind::environment,
              fmt::format("{} of group {} ({}): {}", operation, group, backend, reason));
}

}  // namespace d9d::comm
