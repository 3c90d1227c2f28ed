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

struct StepLoopOptions {
  int rank = 0;
  int world_size = 1;
  int num_nodes = 1;
  std::uint64_t total_steps = 0;
  StepPhases phases;                 // of the task
  std::uint64_t prefetch_steps = 1;  // how many steps are loaded ahead of the one that waits or computes
  std::function<bool(std::uint64_t)> checkpoint_due;  // whether one follows this step
  std::function<bool(std::uint64_t)> metrics_due;
  std::function<std::string(std::uint64_t)> temporary_checkpoint_dir;  // for the checkpoint after this step
  bool saves = true;                            // checkpointing is on, so a signal may ask for one
  bool counts_tokens = true;                    // true on one of the ranks that see the same tokens
  std::uint64_t tokens_before = 0;              // tokens of all ranks up to the resumed checkpoint
  std::function<std::string()> task_state;      // JSON; rank 0 only
  std::function<void()> finalize_task = [] {};  // called once, at the end of a job that did not fail
  std::shared_ptr<TaskRecords> records = std::make_shared<TaskRecords>();
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::optional<TraceWindow> trace_window;         // rank 0 only
  std::optional<std::uint64_t> max_pending_steps;  // how far trackers may be behind; rank 0 only
  ActorId world_collective;                        // this rank's one over all ranks
  // Collectives and TensorLanes of the rank, closed while it sleeps; at least one.
  std::vector<ActorId> links;
  std::chrono::milliseconds first_step_timeout{10'000'000};
  std::chrono::milliseconds step_timeout{100'000};
  std::chrono::milliseconds checkpoint_timeout{3'600'000};  // from the snapshot to the commit
  std::string sleep_file = "asleep";          // where the rank's memory is written while it sleeps
  std::vector<std::string> actor_names;       // own actors of the job, in their order
  std::optional<std::uint64_t> resumed_step;  // step of the checkpoint that is resumed
  std::string
      end_wanted;  // that checkpoint has an actor's request to end, on which all ranks agree in the next step
  std::string ended_before;  // why the run had ended with that checkpoint; empty: it goes on
};

}  // namespace d9d
