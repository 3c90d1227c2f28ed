#pragma once
// The device and the stream that ops of this thread go to.

#include <utility>

namespace d9d::delayed {

// One for each StreamRole, and one for collectives that run as NCCL's do (devices/delayed/nccl/emulated.hpp).
inline constexpr int num_streams = 6;
inline constexpr int collective_stream = 5;
inline constexpr int max_devices = 8;

struct Current {
  int device = 0;
  int streams[max_devices] = {};
  int stream() const { return streams[device]; }
};
Current& current();

// Ops of this thread go to the device until the scope ends.
class OnDevice {
 public:
  explicit OnDevice(int index) : previous_(std::exchange(current().device, index)) {}
  ~OnDevice() { current().device = previous_; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const int previous_;
};

}  // namespace d9d::delayed
