#pragma once
// What an action of a stage gives to its neighbours. No torch in this header.

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// An empty ticket means nothing. Both are TensorParcels of the tensor table.
struct ActionResult {
  Ticket activation;  // of F, for stage + 1
  Ticket gradient;    // of B and I, for stage - 1: gradients of the tensors that asked for one, maybe none
};

}  // namespace d9d
