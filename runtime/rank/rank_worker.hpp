#pragma once
// All tensor work of one rank: its pipeline stages, their program, gradients, optimizer and
// snapshots. The RankExecutor calls it on its own thread only. CollectiveWorkers share the gradient
// buckets (rank_gradients.hpp). run() calls the BucketObserver (step_observer.hpp) with which the
// worker was made. No torch in this header.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/work_log.hpp"
#include "runtime/pipeline/order/rank_order.hpp"
#include "runtime/pipeline/order/step_programs.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/text/text_request.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

// A tensor on its way from one pipeline stage to another.
struct StageTensor {
  bool gradient = false;  // false: an activation for stage `stage`; true: gradients for stage `stage`
  int stage = 0;          // the receiving pipeline stage
  int microbatch = 0;
  Ticket ticket;  // TensorParcel
};

// The result of a rank's gradient hooks: its share of the norm, and whether a hook refuses the update.
struct HookedGradients {
  double norm_share = 0;
  bool skip = false;
};

class RankWorker {
 public:
  virtual ~RankWorker() = default;

  // Builds the model and initialises or loads its state. Slow. The first call on the actor's thread.
  virtual void prepare() = 0;
  // The number of the resumed checkpoint's tensors that this rank answers for; 0 without a checkpoint.
  virtual std::uint64_t entries_loaded() const = 0;
  // The reduce group of each bucket (index into the rank's list of collectives); -1: it needs no reduction.
  virtual std::vector<int> bucket_groups() const = 0;

  // Call it before other code writes to the state: later work on the device waits for a snapshot's copies.
  virtual void let_state_change() {}
  virtual void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  // Takes a tensor for a stage of this rank, for the step that runs.
  virtual void put(const StageTensor& tensor) = 0;
  // Decides which instruction of the step to run next.
  virtual RankOrder& order() = 0;
  // Runs an instruction of order(). Returns the tensors for stages of other ranks.
  virtual std::vector<StageTensor> run(const Instruction& instruction) = 0;
  // Call it after all actions and reductions. With tied weights it waits for another rank.
  // Returns loss, weight, costs, and the share of the norm that no CollectiveWorker has
  // (tied weights, buckets of one rank).
  virtual StepTotals finish_step() = 0;
  // In a job with hooks, after finish_step(): divides the gradients by `weight` and calls the hooks.
  virtual HookedGradients hook_gradients(std::uint64_t step, double loss, double weight) = 0;
  // Begins an evaluation of microbatches between two steps: forward alone, with put(), order() and run()
  // until all actions are done. Parameters, gradients and training's metrics do not change.
  virtual void begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  // Ends an evaluation, in place of finish_step(). Returns this rank's loss and weight.
  virtual StepTotals finish_evaluation() = 0;
  // Begins texts, like begin_evaluation(); finish_evaluation() ends them. All ranks get the same request.
  virtual void begin_texts(std::uint64_t step, const TextRequest& request) = 0;
  // Returns the texts on one rank of the job, nothing on the others.
  virtual Texts take_texts() = 0;
  // The device on which run() and apply() work, and the log of its times. Null on the CPU.
  virtual WorkLog* work_log() { return nullptr; }
  virtual Device* late_device() { return nullptr; }
  // Chooses the program of each step. Report the times of actions and transfers to it, for schedule `auto`.
  virtual StepPrograms& programs() = 0;

  // Scales the gradients, updates the parameters, clears the gradients. `lr_multiplier`: of base rates.
  virtual void apply(double gradient_scale, double lr_multiplier) = 0;
  // Clears the gradients, in place of apply(). Parameters, optimizer state and update count stay.
  virtual void skip() = 0;

  // Writes parameters and optimizer state to a new file, frees their memory and that of the gradients, and
  // returns the freed bytes. Call it after apply() or skip(). Only wake() may be called afterwards.
  virtual std::uint64_t sleep(const std::string& file) = 0;
  // Restores everything to the bit.
  virtual void wake() = 0;
  // Loads a committed checkpoint, between two steps. `skipped_steps`: those of its steps without update.
  virtual void restore(const std::string& checkpoint, std::uint64_t skipped_steps) = 0;

  // Adds watched tensors to the metrics. Call it before take_metrics() and apply(). Scale: 1 / step weight.
  virtual void watch_tensors(double /*gradient_scale*/) {}
  // Returns the task's metrics (Compose::state) since the last call, and starts them anew.
  virtual std::vector<double> take_metrics() = 0;
  // The same for the evaluation's metrics.
  virtual std::vector<double> take_evaluation_metrics() = 0;
  // Returns the metrics as JSON for a checkpoint (Compose::to_json). They are not started anew.
  virtual std::string metric_state() = 0;
  // Copies this rank's part of a checkpoint to the host, as a ShardParcel. Empty if it has none.
  virtual Ticket snapshot() = 0;
};

}  // namespace d9d
