#pragma once
// What is known to have run, or to run before: of each stream of each device everything up to some number. Vector
// clocks: Fidge 1988, "Timestamps in message-passing systems that preserve the partial ordering".

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/devices/delayed/current.hpp"

namespace d9d::delayed {

// One of all devices' streams.
inline int stream_place(int device, int stream) {
  return device * num_streams + stream;
}

// "delayed:1 communicate"
std::string stream_name(int place);

class Clock {
 public:
  std::uint64_t& at(int place) { return upto_[static_cast<std::size_t>(place)]; }
  bool covers(int place, std::uint64_t number) const {
    return upto_[static_cast<std::size_t>(place)] >= number;
  }
  bool covers(const Clock& other) const {
    for (std::size_t i = 0; i < upto_.size(); ++i)
      if (upto_[i] < other.upto_[i]) return false;
    return true;
  }
  void join(const Clock& other) {
    for (std::size_t i = 0; i < upto_.size(); ++i) upto_[i] = std::max(upto_[i], other.upto_[i]);
  }

 private:
  std::array<std::uint64_t, max_devices * num_streams> upto_{};
};

// What this thread has waited for, or has seen to be reached. What it gives to a stream comes behind that.
Clock& clock_of_host();

}  // namespace d9d::delayed
