#pragma once
// What a stage holds for one microbatch, from begin_step to its last action. Internal to the stage core;
// needs torch.

#include <string>
#include <vector>

#include "kernels/graph/split_backward.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Where the backward of a microbatch begins. An edge instead of a tensor: the data of an activation that was
// handed on may go as soon as the next stage is done with it.
struct Root {
  std::string name;
  kernels::BackwardRoot at;
};

struct Microbatch {
  enum class Phase { waiting, forwarded, input_done, finished };

  Phase phase = Phase::waiting;
  bool trains = true;                            // or F is its only action
  MicrobatchTensors given;                       // until F
  Ticket activation, gradient;                   // facts that arrived, until used
  TensorMap leaves;                              // inputs that want a gradient, until B or I
  std::vector<Root> roots;                       // until the backward ran
  c10::intrusive_ptr<kernels::WeightWork> work;  // until B or W
  at::Tensor loss;                               // detached, one element; until finish_step
  double weight = 0;

  // Holds anything large.
  bool cached() const {
    return activation || gradient || !leaves.empty() || !roots.empty() || work || !given.inputs.empty() ||
           !given.shared.empty() || !given.state.empty();
  }
};

// The backward from the roots, as the mode of the work says; the roots and the graph are gone afterwards.
void run_backward(Microbatch& mb);

}  // namespace d9d
