#pragma once
// Brings the recordings of several nodes to one clock. A measured offset (ClockOffset) is wrong by
// up to half a round trip, which is more than a message takes. But no message arrives before it was
// sent, so every message between two nodes bounds the difference of their clocks. Offsets are moved
// into these bounds and no further.

#include <cstdint>
#include <vector>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// A node's recording, or a part of it. `offset_ns` is the measured offset: added to the recording's
// times it gives times of node 0.
struct NodeRecording {
  int node = 0;
  std::int64_t offset_ns = 0;
  Recording recording;
};

// Changes the offsets; node 0 keeps 0. A span whose message was sent from another node gets the
// sending time in the clock of its own node, so that one offset fits all times of a recording.
// Returns how far the offset of any node may be wrong: half the width of its bounds, plus the
// amount by which bounds contradict each other (clocks that drift). A node without messages to or
// from others keeps its offset and does not count.
std::int64_t align_clocks(std::vector<NodeRecording>& parts);

}  // namespace d9d::trace
