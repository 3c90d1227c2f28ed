#pragma once
// The tensors that an action of a stage sends to its neighbours. No torch in this header.

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Both are TensorParcels of the tensor table. An empty ticket: no tensors.
struct ActionResult {
  Ticket activation;  // of F, for stage + 1
  Ticket gradient;    // of B and I, for stage - 1: gradients of the tensors that asked for one, maybe none
};

}  // namespace d9d
