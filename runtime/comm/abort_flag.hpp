#pragma once
// Remembers that a group has failed, and why. May be set from any thread; the first reason stays.

#include <atomic>
#include <mutex>
#include <string>

namespace d9d::comm {

class AbortFlag {
 public:
  // Returns whether this call was the first.
  bool set(const std::string& reason) noexcept;
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
  std::string reason() const;
  // Throws the environment error "<operation> of group <group> (<backend>): <reason>" if the flag is set.
  void throw_if_set(const char* operation, const std::string& group, const std::string& backend) const;

 private:
  std::atomic<bool> set_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

// Throws an environment error in the form that all backends share.
[[noreturn]] void fail_in_group(const char* operation, const std::string& group, const std::string& backend,
                                const std::string& reason);

}  // namespace d9d::comm
