#include "runtime/device/delayed/clock.hpp"

namespace d9d::delayed {

std::string stream_name(int place) {
  constexpr std::array<const char*, num_streams> names{"compute", "communicate", "copy_in", "copy_out",
                                                       "nccl"};
  return "delayed:" + std::to_string(place / num_streams) + " " +
         names[static_cast<std::size_t>(place % num_streams)];
}

Clock& clock_of_host() {
  thread_local Clock of_thread;
  return of_thread;
}

}  // namespace d9d::delayed
