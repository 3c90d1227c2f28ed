#pragma once
// What the loop over the steps of a rank knows about its job and its rank, whether the job trains or infers.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/notes/trace_window.hpp"
#include "messages/actor_id.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/task/task_records.hpp"

namespace d9d {

// Checkpoints of the job.
struct SaveOptions {
  bool on = true;                                           // so a signal may ask for one
  std::function<bool(std::uint64_t)> due;                   // whether one follows this step
  std::function<std::string(std::uint64_t)> temporary_dir;  // for the one after this step
  std::chrono::milliseconds commit_timeout{3'600'000};      // from the snapshot
};

struct StepDeadlines {
  std::chrono::milliseconds first_step{10'000'000};
  std::chrono::milliseconds step{100'000};
};

// What the resumed checkpoint says of the run before.
struct RunBefore {
  std::optional<std::uint64_t> step;  // none: this start resumes nothing
  std::uint64_t tokens = 0;           // of all ranks up to there
  std::string end_wanted;             // an actor's request to end, on which all ranks agree in the next step
  std::string ended;                  // why the run had ended; empty: it goes on
};

// What belongs to users.
struct UsersOfSteps {
  std::function<std::string()> task_state;      // JSON; rank 0 only
  std::function<void()> finalize_task = [] {};  // called once, at the end of a job that did not fail
  std::shared_ptr<TaskRecords> records = std::make_shared<TaskRecords>();
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::vector<std::string> actor_names;  // own actors of the job, in their order
};

// What trackers and traces get.
struct ShownSteps {
  std::function<bool(std::uint64_t)> metrics_due;
  std::optional<TraceWindow> trace_window;         // rank 0 only
  std::optional<std::uint64_t> max_pending_steps;  // how far trackers may be behind; rank 0 only
};

struct SleepOptions {
  // Collectives and TensorLanes of the rank, closed while it sleeps; at least one.
  std::vector<ActorId> links;
  std::string file = "asleep";  // where the rank's memory is written
};

struct StepLoopOptions {
  int rank = 0;
  int world_size = 1;
  int num_nodes = 1;
  std::uint64_t total_steps = 0;
  StepPhases phases;                 // of the task
  std::uint64_t prefetch_steps = 1;  // how many steps are loaded ahead of the one that waits or computes
  bool counts_tokens = true;         // true on one of the ranks that see the same tokens
  ActorId world_collective;          // this rank's one over all ranks
  SaveOptions saves;
  StepDeadlines deadlines;
  RunBefore before;
  UsersOfSteps users;
  ShownSteps shown;
  SleepOptions sleep;
};

}  // namespace d9d
