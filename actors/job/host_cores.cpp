#include "actors/job/host_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace d9d {

int cores_of_process(int bound, int online, const HostShare& share) {
  const bool is_bound = bound > 0 && bound < online;
  return std::max(1, (is_bound ? bound : online / share.launched.count) / share.worker.count);
}

int cores_of_process(const HostShare& share) {
  // The standard library counts the host's.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int bound = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
  return cores_of_process(bound, static_cast<int>(std::thread::hardware_concurrency()), share);
}

}  // namespace d9d
