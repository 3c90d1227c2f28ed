#pragma once
// All the tensor work of one rank: its pipeline stages, their program, gradients, optimizer and snapshots. No torch in
// this header. The RankExecutor uses it on its thread only. CollectiveWorkers share the buckets, see rank_gradients.hpp.
// A worker is made with a BucketObserver (step_observer.hpp), which run() calls.

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

// After the gradient hooks of a rank: its share of the norm of all its gradients, and whether a hook wants no update.
struct HookedGradients {
  double norm_share = 0;
  bool skip = false;
};

class RankWorker {
 public:
  virtual ~RankWorker() = default;

  // Builds the model and initialises or loads its state. Slow; the first call on the actor's thread.
  virtual void prepare() = 0;
  // How many tensors of the resumed checkpoint this rank answers for; 0 without a checkpoint.
  virtual std::uint64_t entries_loaded() const = 0;
  // The reduce group (index into the rank's list of collectives) of each bucket; -1: no reduction needed.
  virtual std::vector<int> bucket_groups() const = 0;

  // Before others than this may write to the state: behind a snapshot's copies of it.
  virtual void let_state_change() {}
  virtual void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  // A tensor for a stage of this rank, of the step that runs.
  virtual void put(const StageTensor& tensor) = 0;
  // Which instruction of the step to run.
  virtual RankOrder& order() = 0;
  // Runs what order() gave and returns the tensors for stages of other ranks.
  virtual std::vector<StageTensor> run(const Instruction& instruction) = 0;
  // When all actions and reductions are done; with tied weights it waits for another rank. This rank's loss, weight and
  // costs, and its share of the norm of gradients that no CollectiveWorker has summed (tied weights, buckets of one rank).
  virtual StepTotals finish_step() = 0;
  // Behind finish_step(), in a job with gradient hooks: divides the gradients by the step's weight and calls the hooks.
  virtual HookedGradients hook_gradients(std::uint64_t step, double loss, double weight) = 0;
  // As begin_step(), of microbatches that are only evaluated: forward alone, in training's place between two steps,
  // with put(), order() and run() until all actions are done. Parameters, gradients and training's metrics stay.
  virtual void begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  // Instead of finish_step(): this rank's loss and weight.
  virtual StepTotals finish_evaluation() = 0;
  // As begin_evaluation(), of prompts that the model goes on with; finish_evaluation() ends it. The same on all ranks.
  virtual void begin_texts(std::uint64_t step, const TextRequest& request) = 0;
  // What came of them, on one rank of the job; empty on the others.
  virtual Texts take_texts() = 0;
  // When its device did the work of run() and apply(), and that device; null on the CPU, where they do it themselves.
  virtual WorkLog* work_log() { return nullptr; }
  virtual Device* late_device() { return nullptr; }
  // Which program a step runs; schedule `auto` is told here how long actions and transfers took.
  virtual StepPrograms& programs() = 0;

  // Scales the gradients, updates the parameters and clears the gradients,
  // in one pass. `lr_multiplier` scales each base learning rate.
  virtual void apply(double gradient_scale, double lr_multiplier) = 0;
  // Instead of apply(): clears the gradients. Parameters, optimizer state and its count of updates stay.
  virtual void skip() = 0;

  // Between two steps, behind apply() or skip(): writes parameters and optimizer state into a new file and hands their
  // memory and that of the gradients back. Returns how many bytes. Nothing but wake() may be called then.
  virtual std::uint64_t sleep(const std::string& file) = 0;
  // Everything is as it was, to the bit.
  virtual void wake() = 0;
  // Between two steps: the state of a committed checkpoint; so many of its steps made no update.
  virtual void restore(const std::string& checkpoint, std::uint64_t skipped_steps) = 0;

  // Before take_metrics() and apply(): counts the watched parameters and gradients, if there are some, in the metrics.
  // `gradient_scale`: 1 / weight of the step.
  virtual void watch_tensors(double /*gradient_scale*/) {}
  // The state of the task's metrics (Compose::state), counted since the last call; they start anew.
  virtual std::vector<double> take_metrics() = 0;
  // The same of what was evaluated.
  virtual std::vector<double> take_evaluation_metrics() = 0;
  // As take_metrics() for a checkpoint, as JSON (Compose::to_json); they go on counting.
  virtual std::string metric_state() = 0;
  // Copies to the host what this rank has to write, as a ShardParcel. Empty when other ranks write all of it.
  virtual Ticket snapshot() = 0;
};

}  // namespace d9d
