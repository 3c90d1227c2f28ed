#pragma once
// MicrobatchFeed makes the inputs of one rank for a step. The Loader actor calls it on its thread, ahead of
// the step. No torch in this header: tests and benchmarks of actors use a feed without tensors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/tensor_table.hpp"
#include "runtime/text/text_request.hpp"

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

// What a feed needs whose samples are made of texts of the model (rollout_stream.hpp). Steps come in their order.
class RolloutNeeds {
 public:
  virtual ~RolloutNeeds() = default;
  virtual std::uint64_t lag() const = 0;
  // The last step whose prompts were asked for, and the last one whose texts are here: at first of the checkpoint.
  virtual std::uint64_t asked() const = 0;
  virtual std::uint64_t written() const = 0;
  // The prompts of the step after asked(), of this rank's data replica.
  virtual TextRequest ask() = 0;
  // The texts of the step after written().
  virtual void write(Texts texts) = 0;
  // StepInputs::stream_state of the step that was loaded last. Call it when the texts of lag() steps after it are here.
  virtual std::string stream_state() const = 0;
};

class MicrobatchFeed {
 public:
  virtual ~MicrobatchFeed() = default;
  // Null: load() needs no texts. Otherwise load() of a step needs its texts, and leaves stream_state to the caller.
  virtual RolloutNeeds* rollouts() { return nullptr; }
  // Puts the inputs of `step` (from 1) into the tensor table. Returns nothing when
  // the data has no whole step left.
  virtual std::optional<StepInputs> load(std::uint64_t step) = 0;
};

}  // namespace d9d
