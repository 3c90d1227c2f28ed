#include "runtime/devices/delayed/clock.hpp"

#include "runtime/device/stream_role.hpp"

namespace d9d::delayed {

std::string stream_name(int place) {
  const auto stream = static_cast<std::size_t>(place % num_streams);
  return "delayed:" + std::to_string(place / num_streams) + " " +
         (stream < stream_roles.size() ? name_of(stream_roles[stream]) : "nccl");
}

Clock& clock_of_host() {
  thread_local Clock of_thread;
  return of_thread;
}

}  // namespace d9d::delayed
