#pragma once
// What a machine ran, piece by piece, while somebody wants to know. Any thread.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace d9d::delayed {

struct RanPiece {
  const char* op = "";
  int stream = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // device_time.hpp
};

class RanPieces {
 public:
  void note(bool on) { on_ = on; }
  void add(const RanPiece& piece) {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    ran_.push_back(piece);
  }
  std::vector<RanPiece> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ran_, {});
  }

 private:
  std::atomic<bool> on_ = false;
  std::mutex mutex_;
  std::vector<RanPiece> ran_;
};

}  // namespace d9d::delayed
