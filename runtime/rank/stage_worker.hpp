#pragma once
// All the tensor work of one rank, without actors and without torch in this header: its pipeline stages,
// their program, gradients, optimizer and snapshots. Owned by the RankExecutor actor and used on its thread only;
// reduce_* of the CollectiveWorker reads and writes the gradient buckets between the calls that say so.

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

struct MetricValue {
  std::string name;
  double value = 0;
  double weight = 0;
  bool is_sum = false;
};

struct ActionReport {
  std::vector<StageOutput> outputs;
  std::vector<MetricValue> metrics;  // of the last stage's forward
};

class StageWorker {
 public:
  virtual ~StageWorker() = default;

  // Before prepare().
  virtual void set_tracing(CommTracing /*tracing*/) {}

  // Builds, initialises or loads. Slow; the first call on the actor's thread.
  virtual void prepare() = 0;
  // Tensors of the resumed checkpoint that this rank answers for; 0 without one.
  virtual std::uint64_t entries_loaded() const = 0;

  // Called inside run(), while the rest of the backward goes on: this bucket saw its last accumulation of the
  // step. Only for buckets with a reduce group, in an order that all replicas share.
  virtual void set_on_bucket_complete(std::function<void(int bucket)> callback) = 0;

  // The reduce group (index into the rank's list of collectives) of each bucket; -1: no reduction needed.
  virtual std::vector<int> bucket_groups() const = 0;

  virtual void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) = 0;
  virtual void put_activation(int stage, int microbatch, Ticket ticket) = 0;
  virtual void put_gradient(int stage, int microbatch, Ticket ticket) = 0;

  // The instruction to run now (in seconds), its inputs are there; empty while it has to wait and at the end.
  virtual std::optional<Instruction> next(double now) = 0;
  // After a next() that gave nothing: when to ask again even if nothing arrives.
  virtual std::optional<double> look_again() const { return {}; }
  // The same for what another rank chose (LeadAction): whether it is to run now; false while inputs are
  // missing.
  virtual bool follow(const Instruction& chosen) = 0;
  virtual ActionReport run(const Instruction& instruction) = 0;
  virtual bool step_done() const = 0;
  // After the last action: this rank's loss, weight and costs. The squared norm is that of the buckets that need
  // no reduction; they are complete now.
  virtual StepTotals finish_step() = 0;

  // One fused pass: scale gradients, update, clear gradients. `lr_multiplier` scales each group's base rate.
  virtual void apply(std::uint64_t step, double gradient_scale, double lr_multiplier) = 0;

  // A copy on the host of what this rank has to write: ShardParcel. Empty when other ranks write all of it.
  virtual Ticket snapshot(std::uint64_t step) = 0;

  virtual std::int64_t num_parameters() const = 0;

  // For schedule `auto`: an instruction took so long; a tensor from another rank came so long after it was
  // produced; the costs of StepTotals summed over all ranks, between two steps.
  virtual void ran(const Instruction& /*instruction*/, double /*seconds*/) {}
  virtual void arrived(bool /*gradient*/, int /*stage*/, double /*seconds*/) {}
  virtual void agree(const std::vector<double>& /*costs*/) {}
};

}  // namespace d9d
