#pragma once
// The phases of a job, in the order in which the Coordinator goes through them. Some may be left out, none
// comes twice. An answer or a deadline of a phase has no effect once the job is past that phase.

#include <cstdint>

namespace d9d {

// The comments name the messages that lead to the next phase. From `preparing` on, PeerDown, Failed and a
// second Signalled lead to `ending`. Earlier, PeerDown only removes the node from the list.
enum class JobPhase {
  gathering,       // Join until all ranks are there; at join_deadline: ending
  preparing,       // NodeReady of all nodes
  training,        // RankFinished of all ranks; checkpoints are committed meanwhile
  telling_events,  // EventsHeard of every own actor, or events_deadline
  saving_metrics,  // TrackerFlushed, or tracker_deadline
  exporting,       // ModelExported of every share; at export_deadline: ending
  tracing,         // TraceWritten, or trace_deadline
  ending,          // all nodes but node 0 were told to stop: PeerDown of each of them, or leave_deadline
  left,            // node 0 has got StopNode, too
};

// The Coordinator's timers: Tick.kind.
enum JobTimer : std::uint32_t {
  join_deadline = 1,
  trace_deadline = 2,
  cause_deadline = 3,  // after a failure that a lost node may explain
  leave_deadline = 4,
  tracker_deadline = 5,
  still_waiting = 6,  // to log who is missing
  export_deadline = 7,
  events_deadline = 8  // for own actors that are late
};

}  // namespace d9d
