#pragma once
// Parcels with tensors in them, for tensor_table.hpp. In a file of its own, because the table
// must not see torch.

#include "runtime/device/event.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Named tensors: an activation, a gradient, the inputs of a microbatch.
struct TensorParcel final : Parcel {
  explicit TensorParcel(TensorMap map, Event event = {})
      : tensors(std::move(map)), filled(std::move(event)) {}
  TensorMap tensors;
  Event filled;  // reached when the tensors have their values; the receiver's stream must wait for it
};

}  // namespace d9d
