#pragma once
// The phases of a job as the Coordinator goes through them, in this order; some may be left out, none comes
// twice. What belongs to a phase (an answer, a deadline) has no effect once the job is past it.

#include <cstdint>

namespace d9d {

// Beside each the messages that lead to the next one. From `preparing` on, PeerDown, Failed and a second
// Signalled lead to `ending`; before it, PeerDown only takes the node off the list.
enum class JobPhase {
  gathering,       // Join until all ranks are there; at join_deadline: ending
  preparing,       // NodeReady of all nodes
  training,        // RankFinished of all ranks; checkpoints are committed meanwhile
  telling_events,  // EventsHeard of every own actor, or events_deadline
  saving_metrics,  // TrackerFlushed, or tracker_deadline
  exporting,       // ModelExported of every share; at export_deadline: ending
  tracing,         // TraceWritten, or trace_deadline
  ending,          // all nodes but node 0 were told to stop: PeerDown of each of them, or leave_deadline
  left,            // node 0 was told to stop, too
};

// The Coordinator's timers: Tick.kind.
enum JobTimer : std::uint32_t {
  join_deadline = 1,
  trace_deadline = 2,
  cause_deadline = 3,  // of a failure whose cause may be a node that is gone
  leave_deadline = 4,
  tracker_deadline = 5,
  still_waiting = 6,  // says who is missing
  export_deadline = 7,
  events_deadline = 8  // of own actors that are behind
};

}  // namespace d9d
