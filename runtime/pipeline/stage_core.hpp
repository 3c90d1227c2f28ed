#pragma once
// One pipeline stage on one rank: its module, the tensors that its
// microbatches keep, and the actions F, B, I and W. No torch in this header;
// make_stage_core.hpp builds one. All calls come from the rank's compute thread.
//
//   F  forward. The activation for the next stage is detached; the last stage computes the loss.
//   B  backward of inputs and weights.
//   I  the input half of backward: gradients for the stage before. Operators that can split leave their weight
//      gradients for W; the others compute them here already.
//   W  the weight half. The first stage defers its whole backward to W, because no stage waits for the
//      gradients of its inputs.
//
// An exception inside an action is rethrown with stage, action and step; the step cannot go on after it.

#include <cstdint>
#include <vector>

#include "runtime/pipeline/action.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct MicrobatchTensors;  // make_stage_core.hpp

// What an action hands on; an empty ticket means nothing. Both are TensorParcels of the tensor table.
struct ActionResult {
  Ticket activation;  // of F, for stage + 1
  Ticket gradient;    // of B and I, for stage - 1: gradients of the tensors that asked for one, maybe none
};

struct StageTotals {
  double loss_sum = 0;  // sum of loss * weight, in microbatch order; 0 but on the last stage
  double weight_sum = 0;
};

class StageCore {
 public:
  virtual ~StageCore() = default;

  virtual int stage() const = 0;

  // One entry per microbatch, at least one; shapes may differ between them. The step before must be finished.
  virtual void begin_step(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches) = 0;

  // In any order, once each: the activation of the stage before, the gradients of the stage after.
  virtual void put_activation(int microbatch, Ticket ticket) = 0;
  virtual void put_gradient(int microbatch, Ticket ticket) = 0;

  // Whether the inputs of an action are there and the actions that it depends on have run.
  virtual bool ready(const Action& action) const = 0;
  // Runs a ready action; one that is not ready is a bug.
  virtual ActionResult run(const Action& action) = 0;

  // Whether every action of the step has run.
  virtual bool step_done() const = 0;
  // Ends the step. A microbatch that still holds tensors is a bug.
  virtual StageTotals finish_step() = 0;
  // How many microbatches hold tensors now.
  virtual int num_cached() const = 0;
};

}  // namespace d9d
