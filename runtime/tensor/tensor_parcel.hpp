#pragma once
// Parcels that carry tensors (the receiving side of tensor_table.hpp, for files that see torch).

#include "runtime/device/event.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Named tensors: an activation, a gradient, the inputs of a microbatch.
struct TensorParcel final : Parcel {
  explicit TensorParcel(TensorMap map, Event event = {})
      : tensors(std::move(map)), filled(std::move(event)) {}
  TensorMap tensors;
  Event filled;  // by which they have their values; who takes them lets a stream wait for it
};

}  // namespace d9d
