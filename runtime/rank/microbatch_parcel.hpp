#pragma once
// What the Trainer hands its stages for one microbatch.

#include "runtime/pipeline/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// In the state of an inference job's microbatch: int64 [B], the number of each row's sample, -1 for a row that only
// fills up the last step.
inline constexpr const char* sample_numbers = "sample_numbers";

struct MicrobatchParcel final : Parcel {
  explicit MicrobatchParcel(MicrobatchTensors given) : tensors(std::move(given)) {}
  MicrobatchTensors tensors;
};

}  // namespace d9d
