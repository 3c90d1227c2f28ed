#pragma once
// Parcels that carry tensors (the receiving side of tensor_table.hpp, for files that see torch).

#include <vector>

#include "runtime/tensor/tensor_map.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

// Named tensors: an activation, a gradient, the inputs of a microbatch.
struct TensorParcel final : Parcel {
  explicit TensorParcel(TensorMap map) : tensors(std::move(map)) {}
  TensorMap tensors;
};

// The microbatches of one step on one data rank, in order.
struct PackParcel final : Parcel {
  explicit PackParcel(std::vector<TensorMap> pack) : microbatches(std::move(pack)) {}
  std::vector<TensorMap> microbatches;
};

}  // namespace d9d
