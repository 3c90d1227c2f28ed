#pragma once
// How many cores of its host a process may take for itself.

#include <optional>

#include "runtime/launch/host_share.hpp"

namespace d9d {

// `bound`: cores that the scheduler left to this command (its affinity); `online`: those of the host. A command that
// was not bound to some of them shares all with the others of the job on this host. Its processes share them. `quota`:
// what their container may use of them, see cpu_quota.hpp. At least 1.
int cores_of_process(int bound, int online, const HostShare& share, std::optional<double> quota = {});

// Of this process.
int cores_of_process(const HostShare& share);

}  // namespace d9d
