#pragma once
// One pipeline stage on one rank: its module, the tensors that its
// microbatches keep, and the actions F, B, I and W.
// All calls come from the rank's compute thread; see run() for the second lane.
//
//   F  forward. The activation for the next stage is detached; the last stage computes the loss.
//   B  backward of inputs and weights.
//   I  the input half of backward: gradients for the stage before. Weight gradients are left for W, but for
//      those that their operators cannot leave (kernels/graph/split_backward.hpp); these are computed here already.
//   W  the weight half. The first stage defers its whole backward to W, because no stage waits for the
//      gradients of its inputs.
//
// An exception inside an action is rethrown with stage, action and step; the step cannot go on after it.

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
  // `table` outlives the core. Gradients are added into each parameter's grad(), which should be defined.
  StageCore(StageCoreOptions options, TensorTable& table);
  ~StageCore();
  StageCore(const StageCore&) = delete;
  StageCore& operator=(const StageCore&) = delete;

  int stage() const { return options_.stage; }

  // One entry per microbatch, at least one; shapes may differ between them. The step before must be finished.
  void begin_step(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches);

  // In any order, once each: the activation of the stage before, the gradients of the stage after.
  void put_activation(int microbatch, Ticket ticket);
  void put_gradient(int microbatch, Ticket ticket);

  // Whether the inputs of an action are there and the actions that it depends on have run.
  bool ready(const Action& action) const;
  // Runs a ready action; one that is not ready is a bug. On the compute thread or on that of lane 1; two
  // actions of one stage never run at a time (run_instruction.hpp).
  ActionResult run(const Action& action);

  // Whether every action of the step has run.
  bool step_done() const { return unfinished_ == 0; }
  // Ends the step. A microbatch that still holds tensors is a bug.
  StageLosses end_step();
  // The same, and the host waits for the losses.
  StageTotals finish_step();
  // Of the last step: trainable parameters that its backwards did not come to, by their index.
  std::vector<std::size_t> unreached() const { return watch_.unreached(); }
  // How many microbatches hold tensors now.
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
  bool module_trains_ = true;  // what the module was told last
  std::vector<Microbatch> microbatches_;
  bool split_watched_ = false, leaves_named_ = false;
  WorkTimer timer_;     // of the action that runs
  int unfinished_ = 0;  // microbatches whose last action did not run yet
};

}  // namespace d9d
