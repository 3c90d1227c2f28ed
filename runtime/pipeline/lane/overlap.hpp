#pragma once
// Whether the parts of composed actions overlap: `trainer.pipelining.overlap` of the job file. No torch.

namespace d9d {

// auto: on CPUs, where one part computes while the other waits for ranks (compute_lanes.hpp). On devices it needs
// `always` (stage_streams.hpp), because no GPU has run it yet.
enum class Overlap { auto_, always, never };

inline bool overlaps(Overlap chosen, bool on_cpu) {
  return chosen == Overlap::always || (chosen == Overlap::auto_ && on_cpu);
}

// Where they overlap on a device: the compute stream of the rank's n-th stage in ascending order, 0 or 1.
inline int stream_of_stage(int n) {
  return n % 2;
}

}  // namespace d9d
