#pragma once
// What the Trainer hands its stages for one microbatch.

#include <utility>
#include <vector>

#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// In the state of an inference job's microbatch: int64 [B], the number of each row's sample, -1 for a row that only
// fills up the last step.
inline constexpr const char* sample_numbers = "sample_numbers";

// In the state of a microbatch that no sample is left for: it is there because every rank has one, and its
// loss and metrics are dropped.
inline constexpr const char* filler_microbatch = "filler_microbatch";

struct MicrobatchParcel final : Parcel {
  explicit MicrobatchParcel(MicrobatchTensors given, std::vector<double> updates = {})
      : tensors(std::move(given)), counted(std::move(updates)) {}
  MicrobatchTensors tensors;
  std::vector<double> counted;  // in metrics, by the task's build_forward_inputs (Compose::take_updates)
};

}  // namespace d9d
