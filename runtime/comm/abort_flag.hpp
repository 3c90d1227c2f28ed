#pragma once
// Set once, from any thread: why a group is of no more use.

#include <atomic>
#include <mutex>
#include <string>

namespace d9d::comm {

class AbortFlag {
 public:
  // The first reason stays. True when it was this call that set it.
  bool set(const std::string& reason) noexcept;
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
  std::string reason() const;
  // Environment error "<operation> of group <group> (<backend>): <reason>" when it is set.
  void throw_if_set(const char* operation, const std::string& group, const std::string& backend) const;

 private:
  std::atomic<bool> set_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

// The one shape of this folder's environment errors.
[[noreturn]] void fail_in_group(const char* operation, const std::string& group, const std::string& backend,
                                const std::string& reason);

}  // namespace d9d::comm
