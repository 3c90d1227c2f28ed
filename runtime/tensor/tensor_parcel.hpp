#pragma once
// Parcels that carry tensors (the receiving side of tensor_table.hpp, for files that see torch).

#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Named tensors: an activation, a gradient, the inputs of a microbatch.
struct TensorParcel final : Parcel {
  explicit TensorParcel(TensorMap map) : tensors(std::move(map)) {}
  TensorMap tensors;
};

}  // namespace d9d
