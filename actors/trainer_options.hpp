#pragma once
// What a Trainer is told about its job and its rank.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/notes/evaluation_run.hpp"
#include "actors/notes/step_requests.hpp"
#include "actors/notes/trace_window.hpp"
#include "messages/actor_id.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/task/task_records.hpp"
#include "runtime/train/step_end.hpp"

namespace d9d {

struct TrainerOptions {
  int rank = 0;
  std::uint64_t total_steps = 0;
  std::uint64_t prefetch_steps = 1;                    // loaded ahead of the step that waits or computes
  std::function<double(std::uint64_t)> lr_multiplier;  // of the step, from 1
  double base_lr = 0;                                  // for reports
  StepEndOptions step_end;                             // clipping, and what is not finite
  std::function<bool(std::uint64_t)> checkpoint_due;   // after this step?
  std::function<bool(std::uint64_t)> metrics_due;
  std::function<std::string(std::uint64_t)> temporary_checkpoint_dir;  // of the checkpoint after this step
  bool counts_tokens = true;                    // one rank of those that see the same tokens does
  std::function<std::string()> task_state;      // JSON; rank 0 only
  std::function<void()> finalize_task = [] {};  // once, at the end of a job that did not fail
  std::shared_ptr<TaskRecords> records = std::make_shared<TaskRecords>();
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::optional<TraceWindow> trace_window;  // rank 0 only
  std::optional<EvaluationOptions> evaluation;
  bool infers = false;  // every step is forward alone, and nothing is applied
  int num_nodes = 1;
  std::uint64_t tokens_before = 0;  // of all ranks in the steps before the checkpoint that is resumed
  ActorId world_collective;         // of this rank
  std::chrono::milliseconds first_step_timeout{10'000'000};
  std::chrono::milliseconds step_timeout{100'000};
  std::chrono::milliseconds checkpoint_timeout{3'600'000};  // from the snapshot to the commit
  std::string sleep_file = "asleep";                        // where the rank's bytes wait
  std::vector<ActorId>
      links;  // Collectives and TensorLanes of the rank, closed while it sleeps; at least one
  int world_size = 1;
  RollBackLimits roll_backs;
  std::function<std::string(std::uint64_t)> checkpoint_dir;  // of the one of this step, committed or resumed
  std::optional<std::uint64_t> resumed_step;                 // of the checkpoint that is resumed
  bool saves = true;                                         // checkpointing is on: a signal may ask for one
  std::vector<std::string> actor_names;                      // own actors of the job, in their order
  double lr_factor = 1;  // that an actor had set in the checkpoint that is resumed
  // What actors had asked for by then, and what was to be agreed on in the step after it.
  std::optional<double> lr_factor_wanted;
  std::string end_wanted;
  std::string ended_before;  // why the run was ended with it; empty: it goes on
};

}  // namespace d9d
