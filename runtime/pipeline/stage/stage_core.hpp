#pragma once
// One pipeline stage on one rank: its module, the tensors of its microbatches, and the actions F, B, I and
// W. Call it on the rank's compute thread; see run() for the second lane.
//
//   F  forward. The activation for the next stage is detached; the last stage computes the loss.
//   B  backward of inputs and weights.
//   I  the input half of backward: gradients for the stage before. Weight gradients are left for W, except
//      those that their operators cannot defer (kernels/graph/split_backward.hpp).
//   W  the weight half. The first stage defers its whole backward to W, because no stage waits for the
//      gradients of its inputs.
//
// An exception inside an action is rethrown with stage, action and step in its text.
// The step cannot continue after it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/action_result.hpp"
#include "runtime/pipeline/stage/microbatch.hpp"
#include "runtime/pipeline/stage/parameter_watch.hpp"
#include "runtime/pipeline/stage/split_watch.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/pipeline/stage/stage_losses.hpp"
#include "runtime/pipeline/watch/other_leaves.hpp"

namespace d9d {

class StageCore {
 public:
  // Keeps a reference to `table`. Gradients are added to each parameter's grad(), which should be defined.
  StageCore(StageCoreOptions options, TensorTable& table);
  ~StageCore();
  StageCore(const StageCore&) = delete;
  StageCore& operator=(const StageCore&) = delete;

  int stage() const { return options_.stage; }

  // Begins a step; the previous one must be finished. `microbatches`: at least one; shapes may differ.
  void begin_step(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches);

  // Take activations of the previous and gradients of the next stage: once per microbatch, in any order.
  void put_activation(int microbatch, Ticket ticket);
  void put_gradient(int microbatch, Ticket ticket);

  // Whether the inputs of an action have arrived, and the actions on which it depends have run.
  bool ready(const Action& action) const;
  // Runs an action. It is a bug if the action is not ready. Call it on the compute thread or on lane 1's,
  // but never for two actions of this stage at once (run_instruction.hpp).
  ActionResult run(const Action& action);

  // Whether every action of the step has run.
  bool step_done() const { return unfinished_ == 0; }
  // Ends the step. A microbatch that still holds tensors is a bug.
  StageLosses end_step();
  // Ends the step and waits on the host for the losses.
  StageTotals finish_step();
  // Returns the indices of trainable parameters that no backward of the last step has reached.
  std::vector<std::size_t> unreached() const { return watch_.unreached(); }
  // The number of microbatches that hold tensors now.
  int num_cached() const;

 private:
  bool is_first() const { return options_.stage == 0; }
  bool is_last() const { return options_.stage == options_.num_stages - 1; }
  int microbatches_of_pass() const { return static_cast<int>(microbatches_.size()) / options_.passes; }
  bool takes_activation(int microbatch) const { return !is_first() || microbatch >= microbatches_of_pass(); }
  bool consumes(int microbatch) const;
  Microbatch& at(int microbatch);
  std::string error_prefix(const Action& action) const;
  [[noreturn]] void throw_of_model(const Action& action, ErrorKind kind, const std::string& what) const;
  void name_unregistered(const Microbatch& mb);
  ActionResult dispatch(const Action& action);
  void begin_work(const Action& action);
  ActionResult forward(Microbatch& mb, int index);
  void set_training(bool trains);
  TensorMap take_activation(Microbatch& mb);
  Ticket put_outputs(Microbatch& mb, const TensorMap& outputs);
  void finish_forward(Microbatch& mb, const LastStageOutputs& outputs);
  void take_gradients(Microbatch& mb);
  ActionResult backward_input(Microbatch& mb);
  void backward_weight(Microbatch& mb);
  ActionResult backward(Microbatch& mb, kernels::WeightWork::Mode mode);
  std::unique_ptr<SplitWatch> watch_first_split(const Microbatch& mb);
  Ticket put_input_gradients(Microbatch& mb);
  void finish(Microbatch& mb);

  const StageCoreOptions options_;
  TensorTable& table_;
  const std::shared_ptr<kernels::TemporarySlot> slot_ = std::make_shared<kernels::TemporarySlot>();
  const std::shared_ptr<const kernels::WeightWork::Leaves> leaves_;
  ParameterWatch watch_;
  std::uint64_t step_ = 0;
  bool module_trains_ = true;  // the last argument of the module's set_training()
  std::vector<Microbatch> microbatches_;
  bool split_watched_ = false, leaves_named_ = false;
  WorkTimer timer_;     // of the action that runs
  int unfinished_ = 0;  // microbatches whose last action did not run yet
};

}  // namespace d9d
