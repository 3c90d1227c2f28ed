#pragma once
// Finds the chain of causes that made a step as long as it was. It goes back from the step's end
// over messages, earlier handlers of a busy actor, and the rank that came last to a collective
// (C.-Q. Yang and B. Miller, "Critical path analysis for the execution of parallel and
// distributed programs", ICDCS 1988).

#include <boost/describe/enum.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/record/recorder.hpp"
#include "runtime/trace/why/causes.hpp"
#include "runtime/trace/why/device_work.hpp"

namespace d9d::trace {

enum class PathKind {
  compute,
  communication,  // a collective, after all of its ranks had come
  stall,          // compute waits for communication, and no late rank is known
  handling,       // an actor handles a message
  disk,
  message,  // on the way, or in the mailbox of an otherwise idle actor
  idle,     // nothing on record: a timer, another program, or what was not traced
};
BOOST_DESCRIBE_ENUM(PathKind, compute, communication, stall, handling, disk, message, idle)
const char* name_of(PathKind kind);

struct PathPart {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  PathKind kind = PathKind::idle;
  int rank = -1;      // where the time passes
  std::string actor;  // its track: "compute stage 1", "trainer/0"; for a message the receiver's
  std::string what;   // "1F0", "all_reduce", "BatchReady"
  std::int64_t length() const { return end_ns - start_ns; }
};

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
