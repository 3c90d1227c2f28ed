#pragma once
// The phases of a job, in the order in which the Coordinator goes through them, and what leads from one to the next.
// Some may be left out, none comes twice. An answer or a deadline of a phase has no effect once the job is past it.

#include <cstdint>

#include "actors/notes/lifecycle.hpp"

namespace d9d {

enum class JobPhase {
  gathering,
  preparing,
  training,  // checkpoints are committed meanwhile
  telling_events,
  saving_metrics,
  exporting,
  tracing,
  rescuing,  // the job has failed: nodes leave, and node 0 writes the trace of what it has
  ending,    // all nodes but node 0 were told to stop
  left,      // node 0 has got StopNode, too
};

constexpr const char* name_of(JobPhase phase) {
  constexpr const char* names[] = {"gathering", "preparing", "training", "telling_events", "saving_metrics",
                                   "exporting", "tracing",   "rescuing", "ending",         "left"};
  return names[static_cast<int>(phase)];
}

inline constexpr auto job_transitions = [] {
  using enum JobPhase;
  return std::to_array<Transition<JobPhase>>({
      {gathering, "Join, until all ranks are there", preparing},
      {preparing, "NodeReady of all nodes", training},
      {training, "RankFinished of all ranks", telling_events},
      {telling_events, "EventsHeard of every own actor, or stage_deadline", saving_metrics},
      {saving_metrics, "TrackerFlushed, or stage_deadline", exporting},
      {exporting, "ModelExported of every share, or nothing to export", tracing},
      {{training, exporting}, "PeerDown, Failed, stage_deadline of the export", rescuing},
      {{gathering, tracing}, "the same and join_deadline, a signal, or all is done", ending},
      {rescuing, "TraceWritten", ending},
      {{rescuing, ending}, "PeerDown of each node that was told to stop, or leave_deadline", left},
  });
}();

// The Coordinator's timers: Tick.kind; Tick.value is the phase that set it.
enum JobTimer : std::uint32_t {
  join_deadline = 1,
  still_waiting = 2,   // to log who is missing
  save_deadline = 3,   // for the states of ranks, in a checkpoint that a failed job still writes
  cause_deadline = 4,  // after a failure that a lost node may explain
  stage_deadline = 5,  // of an answer that a phase after training waits for
  leave_deadline = 6,
};

}  // namespace d9d
