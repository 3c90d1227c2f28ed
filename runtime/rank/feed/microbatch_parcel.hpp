#pragma once
// The tensors of one microbatch on their way from the Loader to the stages.

#include <utility>
#include <vector>

#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Key in the state of an inference job's microbatch: int64 [B], the number of each row's sample, or -1 for a
// row that only fills up the last step.
inline constexpr const char* sample_numbers = "sample_numbers";

// Key in the state of a microbatch for which no sample is left. It exists because every rank needs one;
// its loss and metrics are dropped.
inline constexpr const char* filler_microbatch = "filler_microbatch";

struct MicrobatchParcel final : Parcel {
  explicit MicrobatchParcel(MicrobatchTensors given, std::vector<double> updates = {})
      : tensors(std::move(given)), counted(std::move(updates)) {}
  MicrobatchTensors tensors;
  std::vector<double> counted;  // metric updates of the task's build_forward_inputs (Compose::take_updates)
};

}  // namespace d9d
