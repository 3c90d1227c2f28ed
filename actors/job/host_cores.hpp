#pragma once
// How many cores of its host a process may take for itself.

namespace d9d {

// `bound`: cores that the scheduler left to this process (its affinity); `online`: those of the host. A process that
// was not bound to some of them shares all with the `processes` of the job on this host. At least 1.
int cores_of_process(int bound, int online, int processes);

// Of this process.
int cores_of_process(int processes);

}  // namespace d9d
