#pragma once
// Ends a process whose job is over but whose connections do not close. Nothing is lost, because everything
// is written by then.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace d9d {

class CloseWatch {
 public:
  // Calls `leave`, on a thread of its own, if this object lives for longer than `patience`.
  CloseWatch(std::chrono::milliseconds patience, std::function<void()> leave);
  ~CloseWatch();
  CloseWatch(const CloseWatch&) = delete;
  CloseWatch& operator=(const CloseWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace d9d
