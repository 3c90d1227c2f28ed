#pragma once
// A snapshot of what one rank writes, copied to the host: training goes on while it is written.

#include <vector>

#include "runtime/state/checkpoint_writer_core.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct ShardParcel final : Parcel {
  explicit ShardParcel(std::vector<NamedSlice> copied) : slices(std::move(copied)) {}
  std::vector<NamedSlice> slices;
};

}  // namespace d9d
