#pragma once
// What the Trainer hands its stages for one microbatch.

#include "runtime/pipeline/stage_core_options.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct MicrobatchParcel final : Parcel {
  explicit MicrobatchParcel(MicrobatchTensors given) : tensors(std::move(given)) {}
  MicrobatchTensors tensors;
};

}  // namespace d9d
