#pragma once
// All the tensor work of one rank: its pipeline stages, their program, gradients, optimizer and
// snapshots. No torch in this header. The RankExecutor actor owns it and uses it on its thread
// only. The gradient buckets are shared with the CollectiveWorkers, see rank_gradients.hpp.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/pipeline/action.hpp"
#include "runtime/rank/comm_tracing.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

// Where a tensor produced by an action goes.
struct StageOutput {
  bool gradient = false;  // false: an activation for stage `stage`; true: gradients for stage `stage`
  int stage = 0;          // the receiving pipeline stage
  int microbatch = 0;
  Ticket ticket;  // TensorParcel
};

struct ActionReport {
  std::vector<StageOutput> outputs;
};

class StageWorker {
 public:
  virtual ~StageWorker() = default;

  // Before prepare().
  virtual void set_tracing(CommTracing /*tracing*/) {}

  // Builds the model and initialises or loads its state. Slow; the first call on the actor's thread.
  virtual void prepare() = 0;
  // How many tensors of the resumed checkpoint this rank answers for; 0 without a checkpoint.
  virtual std::uint64_t entries_loaded() const = 0;

  // `callback` runs inside run(), while backward goes on,
  // when a bucket has seen its last addition of the step.
  // Only for buckets with a reduce group, in the same order on all replicas.
  virtual void set_on_bucket_complete(std::function<void(int bucket)> callback) = 0;

  // The reduce group (index into the rank's list of collectives) of each bucket; -1: no reduction needed.
  virtual std::vector<int> bucket_groups() const = 0;

  virtual void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  virtual void put_activation(int stage, int microbatch, Ticket ticket) = 0;
  virtual void put_gradient(int stage, int microbatch, Ticket ticket) = 0;

  // The instruction to run at time `now` (seconds); its inputs
  // are there. Nothing while it has to wait, and at the end.
  virtual std::optional<Instruction> next(double now) = 0;
  // When next() returned nothing: the time at which to call it again if no message arrives first.
  virtual std::optional<double> look_again() const { return {}; }
  // Runs what another rank chose (LeadAction) instead of next():
  // true if it is to run now, false while its inputs are missing.
  virtual bool follow(const Instruction& chosen) = 0;
  virtual ActionReport run(const Instruction& instruction) = 0;
  virtual bool step_done() const = 0;
  // Call it after the last action. Returns this rank's loss, weight and
  // costs, and the squared norm of the buckets that need no reduction.
  virtual StepTotals finish_step() = 0;

  // Scales the gradients, updates the parameters and clears the gradients,
  // in one pass. `lr_multiplier` scales each base learning rate.
  virtual void apply(double gradient_scale, double lr_multiplier) = 0;

  // The state of the task's metrics (Compose::state), counted since the last call; they start anew.
  virtual std::vector<double> take_metrics() = 0;
  // The same for a checkpoint, as JSON (Compose::to_json); they go on counting.
  virtual std::string metric_state() const = 0;

  // Copies to the host what this rank has to write, as a ShardParcel. Empty when other ranks write all of it.
  virtual Ticket snapshot() = 0;

  // For schedule `auto`. ran(): how long an instruction took. arrived(): how long after it was produced
  // a tensor came from another rank. Between two steps: the costs of StepTotals, summed over all ranks.
  virtual void ran(const Instruction& /*instruction*/, double /*seconds*/) {}
  virtual void arrived(bool /*gradient*/, int /*stage*/, double /*seconds*/) {}
  virtual void agree(const std::vector<double>& /*costs*/) {}
};

}  // namespace d9d
