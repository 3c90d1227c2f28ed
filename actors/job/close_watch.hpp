#pragma once
// A process whose job is over, and whose connections do not close: by then all it had to write is written, so it leaves.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace d9d {

class CloseWatch {
 public:
  // `leave` is called on another thread where this object lives for longer than `patience`.
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
