#pragma once
// The tensors of a stage for one microbatch, from begin_step() to its last action. Internal
// to the stage core; needs torch.

#include <string>
#include <vector>

#include "kernels/graph/split_backward.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// A starting point of a microbatch's backward. It has a graph edge and not the tensor, so that the next
// stage can free the data of an activation that was handed on.
struct Root {
  std::string name;
  kernels::BackwardRoot at;
};

struct Microbatch {
  enum class Phase { waiting, forwarded, input_done, finished };

  Phase phase = Phase::waiting;
  bool trains = true;                            // false: F is its only action
  MicrobatchTensors given;                       // until F
  Ticket activation, gradient;                   // of neighbouring stages; from arrival until use
  TensorMap leaves;                              // inputs that need a gradient, until B or I
  std::vector<Root> roots;                       // until the backward ran
  c10::intrusive_ptr<kernels::WeightWork> work;  // until B or W
  at::Tensor loss;                               // detached, one element; until finish_step
  double weight = 0;

  // Whether it holds tensors.
  bool cached() const {
    return activation || gradient || !leaves.empty() || !roots.empty() || work || !given.inputs.empty() ||
           !given.shared.empty() || !given.state.empty();
  }
};

// Runs the backward from the roots, in the mode of the work. Frees the roots and the graph.
void run_backward(Microbatch& mb);

}  // namespace d9d
