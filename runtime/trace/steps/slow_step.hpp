#pragma once
// Explains why a step was slow, as `d9d-node trace --why` prints it: compares its critical path
// with that of a usual step, and finds the slow rank over all steps.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/why/critical_path.hpp"

namespace d9d::trace {

// The time of similar parts of the path: of one kind and track, and for messages and idleness of
// one name. The same track on ranks that do the same work (alike_ranks.hpp) counts as one, because
// the usual step's path may go over another replica.
struct PathShare {
  PathKind kind = PathKind::idle;
  int rank = -1;      // where most of it passes in this step; in the usual step if this one has none
  std::string actor;  // there
  std::string what;   // empty: all work of this kind on the track
  std::int64_t ns = 0;
  std::int64_t usual_ns = 0;  // in the usual step
  std::vector<int> ranks;     // all ranks of the group over which it passes in that step
};

// A rank that computes longer than the others.
struct Straggler {
  int rank = -1;
  int steps = 0;           // number of steps in which it computed longest
  double over_median = 0;  // its compute over that of the median rank, mean of these steps
};

struct SlowStep {
  CriticalPath path;
  std::optional<CriticalPath> usual;  // the step of median length; none: there is no other step
  std::vector<PathShare> shares;      // sorted by how much longer than usual they are, the most first
  std::vector<Straggler> stragglers;  // sorted by steps, the most first; empty with a single rank
  int steps = 0;                      // recorded whole on all ranks
};

// Explains `step`, or the longest step if none is given. Input error: the trace has no such step,
// or no whole step.
SlowStep explain_step(const Recording& recording, std::optional<int> step);

// Prints for people (`top` shares and stretches) and for programs (durations in ns).
std::string to_text(const SlowStep& slow, std::size_t top = 10);
std::string to_json(const SlowStep& slow);

}  // namespace d9d::trace
