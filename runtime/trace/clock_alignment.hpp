#pragma once
// One clock for the recordings of several nodes. Measured offsets (ClockOffset) are
// off by up to half a round trip, more than a message takes; but no message arrives
// before it was sent, so every one that went from node to node is a bound for the
// difference of their two clocks. Offsets are moved into these bounds and no further.

#include <cstdint>
#include <vector>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// What a node recorded, or a part of it. `offset_ns`: measured; added to its times they are those of node 0.
struct NodeRecording {
  int node = 0;
  std::int64_t offset_ns = 0;
  Recording recording;
};

// Changes the offsets (node 0 keeps 0) and gives every span that waits since it was sent
// elsewhere the sending time by the clock of the node, so that one offset fits all times
// of a recording. Returns how far the offset of any node may be wrong: half the width
// of its bounds, plus what the bounds contradict each other by (clocks that drift).
// A node without messages to or from others keeps its offset and counts for nothing.
std::int64_t align_clocks(std::vector<NodeRecording>& parts);

}  // namespace d9d::trace
