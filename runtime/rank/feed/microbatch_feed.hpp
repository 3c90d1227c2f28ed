#pragma once
// MicrobatchFeed makes what one rank computes in a step. The Loader actor calls it on the Loader's thread, ahead of the
// step. No torch in this header: tests and benchmarks of actors put a feed without tensors in its place.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct StepInputs {
  std::vector<Ticket> microbatches;  // MicrobatchParcel each, in order
  std::uint64_t tokens =
      0;             // of this rank's samples, whether they count in the loss or not; not what fills rows up
  double flops = 0;  // of the model over these tokens; 0 where it is not asked for
  std::uint64_t next_sample = 0;  // the first global sample of the next step: what a checkpoint keeps
};

class MicrobatchFeed {
 public:
  virtual ~MicrobatchFeed() = default;
  // The inputs of `step` (from 1), put into the tensor table. Nothing when the data has no whole step left.
  virtual std::optional<StepInputs> load(std::uint64_t step) = 0;
};

}  // namespace d9d
