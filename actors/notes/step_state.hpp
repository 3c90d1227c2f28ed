#pragma once
// The states of a rank's loop over steps, Trainer or Inferrer, and what leads from one to the next. Other facts of the
// loop hold in several states: an update that the optimizer works on and a checkpoint that is written (both while
// the next step runs), a checkpoint or a sleep that is due after the step, why the job's last step is the last.

#include "actors/notes/lifecycle.hpp"

namespace d9d {

enum class StepState {
  starting,
  waiting,
  computing,
  following,
  reducing,
  hooking,
  concluding,  // the step's sums are known, and its update was requested; what is due between two steps comes now
  restoring,
  evaluating,  // in a row, as is_evaluating() relies on it
  measuring,
  comparing,
  expecting_texts,
  making_texts,
  writing_rollouts,
  freeing_memory,  // in a row, as is_asleep() relies on it
  closing_links,
  asleep,
  opening_links,
  taking_memory,
  finishing,  // the last step is done, its update, checkpoint or batches that were asked for may be missing
  finished,
};

constexpr const char* name_of(StepState state) {  // after "the rank is", for an error
  constexpr const char* names[] = {"waiting for the start",
                                   "waiting for its batch",
                                   "computing",
                                   "waiting for what the job's actors make of the step before",
                                   "reducing loss and norm over all ranks",
                                   "calling its gradient hooks",
                                   "concluding its step",
                                   "restoring a checkpoint",
                                   "evaluating",
                                   "waiting for the metrics of an evaluation",
                                   "comparing an evaluation with those before",
                                   "waiting for texts that rank 0 passes on",
                                   "making texts",
                                   "having the model write the texts of a step that follows",
                                   "freeing its memory",
                                   "closing its links",
                                   "asleep",
                                   "opening its links",
                                   "taking its memory back",
                                   "finishing",
                                   "finished"};
  return names[static_cast<int>(state)];
}

inline constexpr auto step_transitions = [] {
  using enum StepState;
  return std::to_array<Transition<StepState>>({
      {starting, "StartTraining", waiting},
      {starting, "StartTraining, and no step is left", finishing},
      {starting, "StartTraining, and the run before owes work of its last step", concluding},
      {waiting, "BatchReady, and no due checkpoint waits for the one before", computing},
      {computing, "StepComputed", following},
      {following,
       "EventsFollowed of the actors that decide, StepShown of a tracker that lags; at once where there are "
       "none",
       reducing},
      {reducing, "ValuesReduced, and the job has gradient hooks", hooking},
      {hooking, "GradientsHooked", reducing},
      {reducing, "ValuesReduced of an update that others of its step follow", computing},
      {reducing, "ValuesReduced, all of them", concluding},
      {concluding, "an agreed RollBack", restoring},
      {restoring, "StateRestored", concluding},
      {concluding, "an evaluation that is due", evaluating},
      {evaluating, "ValuesReduced of its last batch, and its metrics are asked for", measuring},
      {{evaluating, measuring}, "the evaluation's value, and it may end the job", comparing},
      {{evaluating, measuring}, "the evaluation's value, or a signal that cut it short", concluding},
      {comparing, "ValuesReduced", concluding},
      {concluding, "agreed texts, not here yet", expecting_texts},
      {{concluding, expecting_texts}, "GenerateTexts", making_texts},
      {making_texts, "StepComputed", concluding},
      {waiting, "WriteRollouts after the steps done, and no due checkpoint waits for the one before",
       writing_rollouts},
      {writing_rollouts, "StepComputed", waiting},
      {concluding, "nothing more is due", waiting},
      {concluding, "nothing more is due after the last step", finishing},
      {waiting, "an agreed sleep", freeing_memory},
      {freeing_memory, "Slept of executor and collector", closing_links},
      {closing_links, "Slept of all links", asleep},
      {asleep, "Wake", opening_links},
      {opening_links, "Awake of all links", taking_memory},
      {taking_memory, "Awake of the executor", waiting},
      {finishing, "StepApplied, CheckpointCommitted, BatchReady, Listeners: all are here", finished},
  });
}();

constexpr bool is_evaluating(StepState state) {
  return state >= StepState::evaluating && state <= StepState::comparing;
}
constexpr bool is_asleep(StepState state) {
  return state >= StepState::freeing_memory && state <= StepState::taking_memory;
}

}  // namespace d9d
