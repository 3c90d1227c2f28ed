#pragma once
// MicrobatchFeed makes the inputs of one rank for a step. The Loader actor calls it on its thread, ahead of
// the step. No torch in this header: tests and benchmarks of actors use a feed without tensors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct StepInputs {
  std::vector<Ticket> microbatches;  // in order; each is a MicrobatchParcel
  std::uint64_t tokens = 0;          // of this rank's samples; includes those that do not count in the loss
  double flops = 0;                  // of the model over these tokens; 0 when the job does not log it
  std::uint64_t next_sample = 0;     // the first global sample of the next step, for the checkpoint
  // JSON (stream_reader.hpp) for the checkpoint; empty: the source is no stream, or another rank saves it.
  std::string stream_state{};
  bool is_last = false;  // the stream has no whole step left after this one
};

class MicrobatchFeed {
 public:
  virtual ~MicrobatchFeed() = default;
  // Puts the inputs of `step` (from 1) into the tensor table. Returns nothing when
  // the data has no whole step left.
  virtual std::optional<StepInputs> load(std::uint64_t step) = 0;
};

}  // namespace d9d
