#pragma once
// Finds the chain of causes that made a step as long as it was. It goes back from the step's end
// over messages, earlier handlers of a busy actor, and the rank that came last to a collective
// (C.-Q. Yang and B. Miller, "Critical path analysis for the execution of parallel and
// distributed programs", ICDCS 1988).

#include <cstdint>
#include <vector>

#include "runtime/trace/record/recorder.hpp"
#include "runtime/trace/why/causes.hpp"
#include "runtime/trace/why/device_work.hpp"
#include "runtime/trace/why/path_walk.hpp"

namespace d9d::trace {

struct CriticalPath {
  int step = -1;
  int rank = -1;  // the rank whose step ended last; the path is for its step
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<PathPart> parts;  // in the order of time, without gaps, from start to end
  std::int64_t length() const { return end_ns - start_ns; }
};

// Returns the steps of which every rank of the recording has a span, ascending.
std::vector<int> whole_steps(const Recording& recording);

class CriticalPathFinder {
 public:
  // `recording` outlives it.
  explicit CriticalPathFinder(const Recording& recording)
      : recording_(recording), causes_(recording), devices_(recording) {}
  // Input error: the recording has no such step.
  CriticalPath find(int step) const;

 private:
  const Recording& recording_;
  const Causes causes_;
  const DeviceWork devices_;
};

}  // namespace d9d::trace
