#include "runtime/launch/host_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "runtime/base/host/cpu_quota.hpp"

namespace d9d {

int cores_of_process(int bound, int online, const HostShare& share, std::optional<double> quota) {
  const bool is_bound = bound > 0 && bound < online;
  const int of_command =
      is_bound ? whole_cores(bound, quota) : whole_cores(online, quota) / share.launched.count;
  return std::max(1, of_command / share.worker.count);
}

int cores_of_process(const HostShare& share) {
  // The standard library counts the host's.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int bound = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
  return cores_of_process(bound, static_cast<int>(std::thread::hardware_concurrency()), share, cpu_quota());
}

}  // namespace d9d
