#pragma once
// How a Trainer turns a pack into what its stages run: the task's build_forward_inputs, once per microbatch.
// No torch in this header.

#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct StepInputs {
  std::vector<Ticket> microbatches;  // MicrobatchParcel each
  std::uint64_t tokens = 0;          // of this rank's pack, whether counted in the loss or not
};

class InputBuilder {
 public:
  virtual ~InputBuilder() = default;
  // Takes the pack out of the table and puts the microbatches in.
  virtual StepInputs build(std::uint64_t step, Ticket pack) = 0;
};

}  // namespace d9d
