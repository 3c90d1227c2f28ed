#pragma once
// Why a step was slow: its critical path beside that of a usual step, and which rank is the slow one over all steps.
// What `d9d-node trace --why` prints.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/why/critical_path.hpp"

namespace d9d::trace {

// Time of the path that is alike: of one kind, on one track, for messages and idleness of one name. A track of ranks that
// do the same work (alike_ranks.hpp) is one: the usual step's path may have gone over another replica.
struct PathShare {
  PathKind kind = PathKind::idle;
  int rank = -1;      // where most of it went by in this step; in the usual one where this has none of it
  std::string actor;  // there
  std::string what;   // empty: all that the track does of this kind
  std::int64_t ns = 0;
  std::int64_t usual_ns = 0;  // in the usual step
  std::vector<int> ranks;     // all of the same work that it went by on in the same step
};

// A rank that computes longer than the others.
struct Straggler {
  int rank = -1;
  int steps = 0;           // in so many of them it computed longest
  double over_median = 0;  // its compute over that of the median rank, mean of these steps
};

struct SlowStep {
  CriticalPath path;
  std::optional<CriticalPath> usual;  // of the step with the median length; none: there is no other step
  std::vector<PathShare> shares;      // by how much longer than usual they are, the most first
  std::vector<Straggler> stragglers;  // by steps, the most first; of a single rank none
  int steps = 0;                      // that all ranks have whole
};

// Of `step`; without one of the step that took longest. Input error: the trace has no such step, or none whole.
SlowStep explain_step(const Recording& recording, std::optional<int> step);

// For people (`top` shares and stretches) and for programs (durations in ns).
std::string to_text(const SlowStep& slow, std::size_t top = 10);
std::string to_json(const SlowStep& slow);

}  // namespace d9d::trace
