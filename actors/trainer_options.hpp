#pragma once
// What a Trainer knows about its job and its rank.

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
  std::uint64_t prefetch_steps = 1;  // how many steps are loaded ahead of the one that waits or computes
  std::function<double(std::uint64_t)> lr_multiplier;  // for each step, from 1
  double base_lr = 0;                                  // for reports
  StepEndOptions step_end;                             // clipping, and what to do when numbers are not finite
  std::function<bool(std::uint64_t)> checkpoint_due;   // whether one follows this step
  std::function<bool(std::uint64_t)> metrics_due;
  std::function<std::string(std::uint64_t)> temporary_checkpoint_dir;  // for the checkpoint after this step
  bool counts_tokens = true;                    // true on one of the ranks that see the same tokens
  std::function<std::string()> task_state;      // JSON; rank 0 only
  std::function<void()> finalize_task = [] {};  // called once, at the end of a job that did not fail
  std::shared_ptr<TaskRecords> records = std::make_shared<TaskRecords>();
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
  std::optional<TraceWindow> trace_window;  // rank 0 only
  std::optional<EvaluationOptions> evaluation;
  bool infers = false;  // every step is forward only, and nothing is applied
  int num_nodes = 1;
  std::uint64_t tokens_before = 0;  // tokens of all ranks up to the resumed checkpoint
  ActorId world_collective;         // this rank's one over all ranks
  std::chrono::milliseconds first_step_timeout{10'000'000};
  std::chrono::milliseconds step_timeout{100'000};
  std::chrono::milliseconds checkpoint_timeout{3'600'000};  // from the snapshot to the commit
  std::string sleep_file = "asleep";  // where the rank's memory is written while it sleeps
  std::vector<ActorId>
      links;  // Collectives and TensorLanes of the rank, closed while it sleeps; at least one
  int world_size = 1;
  RollBackLimits roll_backs;
  std::function<std::string(std::uint64_t)> checkpoint_dir;  // of the step's committed or resumed one
  std::optional<std::uint64_t> resumed_step;                 // step of the checkpoint that is resumed
  bool saves = true;                     // checkpointing is on, so a signal may ask for one
  std::vector<std::string> actor_names;  // own actors of the job, in their order
  double lr_factor = 1;                  // that an actor had set, from the resumed checkpoint
  // Requests of actors that the resumed checkpoint has, and on which all ranks agree in the next step.
  std::optional<double> lr_factor_wanted;
  std::string end_wanted;
  std::string ended_before;  // why the run had ended with that checkpoint; empty: it goes on
};

}  // namespace d9d
